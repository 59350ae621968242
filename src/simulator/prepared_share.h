// A share, compiled once and expanded in each round of the repeats around it.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "simulator/event_elements.h"
#include "simulator/slice_writers.h"

namespace etc {

struct PreparedShare {
  /// `ahead`: of the dispatch whose case it is. `pushed_by` has one reference, or none. The module
  /// and the references must outlive it.
  PreparedShare(const Module& module, const Share& share, std::optional<int64_t> ahead,
                const std::vector<EventRef>& pushed_by, const Sizes& sizes, Slots& slots);

  /// Calls `on_task` for each task of the round that the slots say, with its variables set.
  template <class F>
  void EachTask(Slots& slots, const F& on_task, size_t axis = 0) const {
    if (axis == axes.size()) {
      on_task();
      return;
    }
    size_t slot = slots.Of(share->axes[axis].var);
    int64_t hi = axes[axis].second.Evaluate(slots).value_or(1);
    for (int64_t value = axes[axis].first.Evaluate(slots).value_or(0); value < hi; ++value) {
      slots[slot] = value;
      EachTask(slots, on_task, axis + 1);
    }
  }

  TensorSlice SliceOf(size_t argument, const Slots& slots) const;

  /// Whether data say what the share waits for: it is taken for all that the calls before have
  /// made.
  bool DependsOnData() const {
    return range_waits.DependsOnData() || enter_waits.DependsOnData() || waits.DependsOnData();
  }

  const Share* share;
  std::optional<int64_t> ahead;  // where it is a case
  CompiledExpr first;
  std::vector<std::pair<CompiledExpr, CompiledExpr>> axes;
  EventElements range_waits, enter_waits, waits, notifies, leave_notifies, arrivals;
  EventElements after_arrivals, pushed_by;
  std::vector<std::vector<CompiledExpr>> indices;  // of each argument
};

}  // namespace etc
