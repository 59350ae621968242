// What every thread of a block reads for itself while they run a task together: a `let`, the bounds
// of a loop, a condition. A thread may be late, so a barrier stands before what stores to that.
#pragma once

#include <set>

#include "ir/module.h"

namespace etc {

class PendingReads {
 public:
  /// Both must outlive it.
  PendingReads(const Module& module, const Device& device);

  /// All threads read what the expression does.
  void Add(ExprId expr);
  void Add(const std::vector<Axis>& axes);
  void Add(const PendingReads& other) {
    tensors_.insert(other.tensors_.begin(), other.tensors_.end());
  }
  void Swap(PendingReads& other) { tensors_.swap(other.tensors_); }
  /// All threads have passed a barrier.
  void Clear() { tensors_.clear(); }
  /// Whether a statement may store to what is read.
  bool MeetStores(StmtId stmt) const;
  bool MeetStores(const std::vector<StmtId>& body) const;
  /// Whether a local is read, which the next task stores to.
  bool HasLocals() const;

 private:
  bool IsPending(TensorId stored) const;

  const Module& module_;
  std::set<std::pair<TensorId, TensorId>>
      aliases_;  // parameters that stand for one tensor somewhere
  std::set<TensorId> tensors_;
};

}  // namespace etc
