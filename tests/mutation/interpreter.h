// Runs the body of one task on integers, to see which elements it touches. Floats have no value
// here; an index, a bound or a condition that needs one cannot be judged.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc::mutation {

/// An integer or a boolean; nothing where it is not known.
using Value = std::optional<int64_t>;

class Interpreter {
 public:
  using OnAccess = std::function<void(TensorId, const std::vector<int64_t>&, bool write)>;
  using OnLoad = std::function<Value(TensorId, const std::vector<int64_t>&)>;

  /// `dims` are the sizes; `ranges` is what `lower` and `upper` stand for.
  Interpreter(const Module& module, const Env& dims, const DimRanges& ranges);

  /// Called for each element of a parameter that is read or written, inside of its tensor or not.
  OnAccess on_access;
  /// The value of an element of integers.
  OnLoad on_load;

  void Set(SymbolId symbol, Value value) { values_[symbol.value] = value; }
  Value Get(SymbolId symbol) const { return values_[symbol.value]; }
  Value Eval(ExprId id);
  void Run(const std::vector<StmtId>& body);
  /// Calls `visit` at each point of the axes, in row-major order.
  void Loop(const std::vector<Axis>& axes, const std::function<void()>& visit, size_t axis = 0);
  std::vector<int64_t> Shape(const Tensor& tensor);

  /// Something that decides what happens was not known.
  bool unknown() const { return unknown_; }
  /// An element of a local array, or a division by zero, that the body must not reach.
  const std::string& fault() const { return fault_; }

 private:
  Value Known(Value value);
  Value Of(const Load& load);
  Value Of(const Binary& binary);
  Value Of(const Call& call, ExprId id);
  Value Of(const Reduce& reduce);
  void Run(const TopK& topk);
  void Touch(TensorId tensor, const std::vector<ExprId>& indices, bool write);
  std::optional<std::vector<int64_t>> Index(const std::vector<ExprId>& indices);

  const Module& module_;
  DimRanges ranges_;
  std::vector<Value> values_;  // by symbol
  bool unknown_ = false;
  std::string fault_;
};

}  // namespace etc::mutation
