// What is known at a place of a body that is being read, and what must hold there: indices lie in
// their extents, scalars in their ranges, divisors are not 0.
#pragma once

#include <set>
#include <vector>

#include "analysis/regions.h"
#include "analysis/sets/intervals.h"

namespace etc {

class BodyScope {
 protected:
  /// At the start of the body of task 1.
  BodyScope(Unknowns& unknowns, const ProgramCall& call, const BodyReader* reader);

  /// The facts that hold inside of a loop or a branch.
  struct Saved {
    Set scope;
    bool exact;
  };
  Saved Save() const { return {scope_, exact_}; }
  void Restore(Saved saved) {
    scope_ = std::move(saved.scope);
    exact_ = saved.exact;
  }

  bool EnterBranch(ExprId condition, bool wanted);

  /// Whether an operation in it has no value for some operands.
  bool IsPartial(ExprId expr) const;
  bool IsPartial(const EventRef& ref) const;

  void CheckIndex(TensorId tensor, size_t axis, ExprId index, bool exact);
  void CheckSlices();
  void CheckScalars();
  void CheckOperation(ExprId id);
  void CheckRanks(const TopK& topk);

  Set ElementsOf(TensorId memory);

  Unknowns& unknowns_;
  const Module& module_;
  const ProgramCall& call_;
  const BodyReader* reader_;
  TaskScope task_;
  Intervals intervals_;
  std::set<TensorId> stored_;  // parameters that the task may store to; for a reader
  std::set<TensorId> empty_;   // of which the task's own writes are looked at; for a reader
  Set scope_;
  bool exact_ = true;

 private:
  void FindStored();
  void FindEmpty();
};

}  // namespace etc
