// What the clauses of a program of several ranks say of peers: who is notified, and of what. A peer
// must wait for all that it is notified of (docs/multi-gpu.md).
#include <algorithm>

#include "ir/rewrite.h"
#include "schedule/event_plan.h"
#include "schedule/rank_shift.h"

namespace etc {

/// Whether all wait for the last iteration of a repeat alone. The others are not notified.
bool EventPlan::IsHeardInLastAlone(const PlannedEvent& planned, size_t repeat) const {
  auto waits_for_last = [&](const PlannedWait& wait) {
    return wait.iterations[repeat].kind == IterationWait::Kind::Last && !wait.guard &&
           !wait.first_only;
  };
  return for_each_rank_ && planned.rank != 0 && !planned.initial && !planned.waits.empty() &&
         std::all_of(planned.waits.begin(), planned.waits.end(), waits_for_last);
}

/// Of how many of the last iterations of a repeat nobody waits for the elements. These are not
/// notified either, and have no elements.
int64_t EventPlan::UnheardIterations(const PlannedEvent& planned, size_t repeat) const {
  if (!for_each_rank_ || planned.rank == 0 || planned.initial || planned.waits.empty()) {
    return 0;
  }
  int64_t least = planned.waits.front().iterations[repeat].distance;
  for (const PlannedWait& wait : planned.waits) {
    const IterationWait& iteration = wait.iterations[repeat];
    if (iteration.kind != IterationWait::Kind::Earlier || wait.guard || wait.first_only) {
      return 0;
    }
    least = std::min(least, iteration.distance);
  }
  return least;
}

/// How far on the circle of ranks all who wait are from whom they wait for, where none of them
/// waits for more.
std::optional<int64_t> EventPlan::ShiftOfWaits(const PlannedEvent& planned) const {
  std::optional<int64_t> shift;
  for (const PlannedWait& wait : planned.waits) {
    bool is_one = planned.grains.front() == 1 && !wait.coordinates.front().last;
    auto found = is_one ? ShiftOfRank(wait.coordinates.front().lo, ranks_) : std::nullopt;
    if (!found || (shift && shift != found)) {
      return std::nullopt;
    }
    shift = found;
  }
  return shift;
}

/// Names the rank that has the elements: that of a coordinate, the one that waits, or each.
void EventPlan::AddPeer(const PlannedEvent& planned, EventRef& notify) {
  if (planned.rank) {
    if (*planned.rank > 0) {
      notify.peer = MakeRef(module_, coords_[planned.from][*planned.rank]);
    }
  } else if (auto shift = ShiftOfWaits(planned)) {
    if (*shift > 0) {
      notify.peer = ShiftedRank(planned.from, ranks_ - *shift);
    }
  } else {
    Symbol each = module_.symbols[module_.rank];
    each.kind = SymbolKind::Index;
    each.name = "to";
    SymbolId peer = module_.symbols.Add(std::move(each));
    notify.axes = {{peer, {}, AxisAt(planned.from, 0).hi}};
    notify.peer = MakeRef(module_, peer);
  }
}

ExprId EventPlan::ShiftedRank(size_t call, int64_t shift) {
  return MakeShiftedRank(module_, MakeRef(module_, coords_[call].front()), shift, ranks_,
                         AxisAt(call, 0).hi);
}

}  // namespace etc
