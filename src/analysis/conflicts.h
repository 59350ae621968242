// Whether two calls touch an element in common, one of them writing.
#pragma once

#include <memory>

#include "analysis/program.h"

namespace etc {

/// Reads the bodies of the calls that it is asked for, and no others.
class Conflicts {
 public:
  /// The module must outlive it.
  Conflicts(const Module& module, CallProgram program);
  ~Conflicts();

  /// What the call that comes later reads or writes the tensor for.
  enum class Use {
    Body,
    Range,  // to know its tasks
    Edges,  // to know what it waits for and notifies
  };
  /// Two calls, by their nodes, in one iteration of each of the outermost `repeats` repeats, which
  /// are around both.
  struct Pair {
    NodeId from;
    NodeId to;
    size_t repeats;
    bool carried;  // `to` is in a later iteration of the repeat inside of these
  };
  /// False where no task of `to` touches an element of the tensor that a task of `from` touches, or
  /// both only read it: whatever the sizes and the data.
  bool MayMeet(const Pair& pair, TensorId tensor, Use use);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etc
