// The loops of a body, and what their iterations access. They show that iterations of a `for` do
// not depend on each other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/sets/isl.h"
#include "ir/evaluate.h"

namespace etc {

/// A loop whose iterations are independent: a `for`, or the ranks of a `topk`.
struct BodyLoop {
  StmtId stmt;
  std::vector<SymbolId> variables;
  std::vector<std::string> names;  // of the parameters that stand for them
  size_t mark;                     // terms and variables made from here on belong to one iteration
  size_t first_symbol;             // so do symbols
  size_t first_access;
};

/// An access of an element that the task may store to.
struct BodyAccess {
  TensorId tensor;  // as the body names it
  std::vector<ExprId> indices;
  bool write;
  SourceRange range;
  Set scope;             // where it happens
  bool exact;            // of `scope`
  size_t depth = 0;      // how many loops are around it
  size_t variables = 0;  // of the innermost of them that are known: the ranges come one by one
};

class BodyLoops {
 public:
  /// Sees each loop when all in it is read and it is the innermost of `around`.
  using OnLoop = std::function<void(const BodyLoops&)>;

  /// The module and the ranges must outlive it.
  BodyLoops(const Module& module, const DimRanges& ranges, OnLoop on_loop)
      : module_(module), ranges_(ranges), on_loop_(std::move(on_loop)) {}

  void Enter(StmtId stmt, size_t mark);
  void Leave();
  /// A variable of the innermost loop.
  void AddVariable(SymbolId variable, const std::string& name);
  /// Any variable of a loop or a reduction.
  void Know(SymbolId variable) { order_.emplace(variable, order_.size()); }
  void Let(SymbolId symbol, ExprId value) { lets_[symbol] = value; }
  void Declare(TensorId local) { depths_[local] = around_.size(); }
  void Add(BodyAccess access);

  /// The loops that are being read, the outermost first.
  const std::vector<BodyLoop>& around() const { return around_; }
  /// What the innermost of them accesses of tensors that its iterations share.
  std::vector<const BodyAccess*> Shared() const;
  /// How many variables of the innermost loop stand around an access, from the first on.
  size_t VariablesAround(const BodyAccess& access) const;
  /// Whether two accesses through one name touch an element only in one iteration of the innermost
  /// loop, as the coefficients of its variables in their indices say: true of most stores, and much
  /// cheaper than isl.
  bool StayInIteration(const BodyAccess& a, const BodyAccess& b) const;

 private:
  /// Coefficients of symbols other than 0, and of 1 for an absent one.
  using Linear = std::map<SymbolId, int64_t>;

  bool IsOwn(TensorId tensor) const;
  std::optional<Linear> LinearOf(ExprId id) const;

  const Module& module_;
  const DimRanges& ranges_;
  OnLoop on_loop_;
  std::vector<BodyLoop> around_;
  std::vector<BodyAccess> accesses_;  // in the outermost of them
  std::map<SymbolId, size_t> order_;  // in which variables were entered
  std::map<SymbolId, ExprId> lets_;
  std::map<TensorId, size_t> depths_;  // how many loops are around a local
};

}  // namespace etc
