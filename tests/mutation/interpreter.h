// Runs the body of one task on integers, to see which elements it touches and what it computes of
// indices. Floats have no value here; an index, a bound or a condition that needs one cannot be
// judged, but for the indices that `topk` and `argmax` find among floats: those may be any.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"
#include "iteration_touches.h"

namespace etc::mutation {

/// An integer or a boolean; nothing where it is not known.
using Value = std::optional<int64_t>;

class Interpreter {
 public:
  using OnRead = std::function<Value(TensorId, const std::vector<int64_t>&)>;
  using OnWrite = std::function<void(TensorId, const std::vector<int64_t>&, Value)>;

  /// `dims` are the sizes; `ranges` is what `lower` and `upper` stand for.
  Interpreter(const Module& module, const Env& dims, const DimRanges& ranges);

  /// Called for each element that is read or written of a tensor that is not local, inside of the
  /// tensor or not.
  OnRead on_read;
  OnWrite on_write;
  /// Picks one of `n` indices, where data decide which.
  std::function<int64_t(int64_t n)> on_choose;

  void Set(SymbolId symbol, Value value) { values_[symbol.value] = value; }
  Value Get(SymbolId symbol) const { return values_[symbol.value]; }
  Value Eval(ExprId id);
  /// Runs the body of one task.
  void RunTask(const std::vector<StmtId>& body);
  /// Calls `visit` at each point of the axes, in row-major order.
  void Loop(const std::vector<Axis>& axes, const std::function<void()>& visit, size_t axis = 0);
  std::vector<int64_t> Shape(const Tensor& tensor);

  /// Where in the loops of the body the task is: those of a `for`, and the ranks of a `topk`.
  const LoopPlace& place() const { return place_; }
  /// Names of a local of which two iterations touch an element, one writing.
  const std::set<TensorId>& dependent() const { return dependent_; }

  /// Locals of which an element was read that nothing had been stored in.
  const std::set<TensorId>& undefined() const { return undefined_; }

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
  Value ArgOf(const Reduce& reduce);
  static Value Start(Reduction op);
  static Value Joined(Reduction op, int64_t a, int64_t b);
  void Run(const std::vector<StmtId>& body);
  void Run(const LetPair& pair);
  void Run(const TopK& topk);
  std::vector<int64_t> Largest(const TopK& topk);
  void Write(TensorId tensor, const std::vector<ExprId>& indices, Value value);
  void Iterate(const std::vector<Axis>& axes, const std::function<void()>& visit, size_t axis = 0);
  void TouchLocal(TensorId tensor, const std::vector<int64_t>& index, bool write);
  void CheckLocal(const Tensor& tensor, const std::vector<int64_t>& index);
  std::optional<std::vector<int64_t>> Index(const std::vector<ExprId>& indices);

  const Module& module_;
  DimRanges ranges_;
  std::vector<Value> values_;                                          // by symbol
  std::map<std::pair<TensorId, std::vector<int64_t>>, Value> locals_;  // integers of this task
  LoopPlace place_;
  size_t runs_ = 0;                      // of loops and declarations
  std::map<TensorId, size_t> declared_;  // which array of its own a local is now
  IterationTouches<std::pair<size_t, std::vector<int64_t>>> touches_;
  std::set<TensorId> dependent_;
  std::set<std::pair<size_t, std::vector<int64_t>>> written_;  // of locals
  std::set<TensorId> undefined_;
  bool unknown_ = false;
  std::string fault_;
};

}  // namespace etc::mutation
