// What is read and written in a launch, through the arguments of the call that runs, and the
// integers that this moves.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "caller_data.h"
#include "interpreter.h"
#include "memory.h"

namespace etc::mutation {

class Accesses {
 public:
  /// Answers the interpreter's accesses.
  Accesses(const Module& module, Interpreter& interpreter, CallerData& data);

  /// The parameters of `device` stand for `args` and `scalars` from now on. False where what the
  /// launch has computed is not as the device function asks: the proofs assume that it is, and say
  /// so.
  bool Bind(const Device& device, const std::vector<Argument>& args,
            const std::vector<ExprId>& scalars);

  /// From now on cells that are accessed are added to these. Without `writes`, what is read is to
  /// control tasks, and the caller's constants are left out: nothing can race with them.
  void Note(std::vector<size_t>* reads, std::vector<size_t>* writes = nullptr);
  /// No longer. What was noted is sorted, each cell once.
  void Stop();

  Memory& memory() { return memory_; }
  /// An index outside of its extent; empty when none is.
  const std::string& outside() const { return outside_; }
  /// A read of what another tensor in the same memory was stored over; empty when there is none.
  const std::string& overwritten() const { return overwritten_; }
  /// Names, in bodies, through which two iterations of a task touch an element, one writing.
  const std::set<TensorId>& dependent() const { return dependent_; }
  /// The cells that the task reads before it writes them: since `Note`.
  const std::set<size_t>& unwritten() const { return unwritten_; }
  /// Names, in bodies, of `out` parameters of which it does so.
  const std::set<TensorId>& undefined() const { return undefined_; }
  /// The ranks at which the task writes, in a program of all ranks: since `Note`.
  const std::set<int64_t>& written_ranks() const { return written_ranks_; }
  /// A tensor is too large, or the value of an index is not known.
  bool unknown() const { return unknown_; }

 private:
  /// What a parameter stands for.
  struct Bound {
    TensorId tensor;
    std::vector<int64_t> shape;                 // of the parameter
    std::vector<std::optional<int64_t>> slice;  // leading indices, of which some are free

    /// The index in the tensor of the program.
    std::vector<int64_t> Full(const std::vector<int64_t>& index) const;
  };
  using Element = std::pair<TensorId, std::vector<int64_t>>;

  bool KeepsPrecondition(TensorId param);
  Value CountOf(TensorId param, int64_t wanted);
  std::optional<Element> Resolve(TensorId named, const std::vector<int64_t>& index);
  std::optional<Memory::Cells> CellsOf(const Element& element);
  Value Read(TensorId named, const std::vector<int64_t>& index);
  void Write(TensorId named, const std::vector<int64_t>& index, Value value);
  Value Held(const Element& element, Memory::Cells cells);
  void Outside(const std::string& text);
  void TouchInIteration(TensorId named, TensorId tensor, Memory::Cells cells, bool write);

  const Module& module_;
  Interpreter& interpreter_;
  CallerData& data_;
  Memory memory_;
  std::map<TensorId, Bound> bound_;  // by parameter of the device function
  std::set<TensorId> stored_;        // what it may store to
  IterationTouches<size_t> touches_;
  std::set<TensorId> dependent_;
  std::set<size_t> own_;  // cells that the task has written
  std::set<size_t> unwritten_;
  std::set<TensorId> undefined_;
  std::set<int64_t> written_ranks_;
  std::string callee_;
  std::vector<size_t>* reads_ = nullptr;
  std::vector<size_t>* writes_ = nullptr;
  std::string outside_;
  std::string overwritten_;
  bool unknown_ = false;
};

}  // namespace etc::mutation
