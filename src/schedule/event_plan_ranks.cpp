// What the clauses of a program of several ranks say of peers: who is notified, and of what. A peer
// must wait for all that it is notified of (docs/multi-gpu.md).
#include <algorithm>

#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "schedule/event_plan.h"

namespace etc {

/// Whether all who wait for a peer's elements do so for these iterations of a repeat.
bool EventPlan::AllWaitFor(const PlannedEvent& planned, size_t repeat,
                           IterationWait::Kind kind) const {
  return ForEachRank() && planned.rank != 0 && !planned.initial && !planned.waits.empty() &&
         std::all_of(planned.waits.begin(), planned.waits.end(), [&](const PlannedWait& wait) {
           return wait.iterations[repeat].kind == kind && !wait.guard && !wait.first_only;
         });
}

/// Of how many of the last iterations of a repeat nobody waits for the elements. These are not
/// notified, and have no elements.
int64_t EventPlan::UnheardIterations(const PlannedEvent& planned, size_t repeat) const {
  if (!AllWaitFor(planned, repeat, IterationWait::Kind::Earlier)) {
    return 0;
  }
  int64_t least = planned.waits.front().iterations[repeat].distance;
  for (const PlannedWait& wait : planned.waits) {
    least = std::min(least, wait.iterations[repeat].distance);
  }
  return least;
}

/// How many ranks further round the ring the value is, of every rank: nothing where it depends on
/// more than the rank, or is no such distance.
std::optional<int64_t> EventPlan::ShiftOf(ExprId value) const {
  auto at = [&](int64_t rank) { return EvaluateInt(module_, value, {{module_.rank, rank}}); };
  const std::optional<int64_t> shift = at(0);
  for (int64_t rank = 0; rank < ranks_; ++rank) {
    if (!shift || at(rank) != (rank + *shift) % ranks_) {
      return std::nullopt;
    }
  }
  return shift;
}

/// How far round the ring all who wait are from whom they wait for, where none of them waits for
/// more.
std::optional<int64_t> EventPlan::ShiftOfWaits(const PlannedEvent& planned) {
  std::optional<int64_t> shift;
  for (const PlannedWait& wait : planned.waits) {
    bool is_one = planned.grains.front() == 1 && !wait.coordinates.front().last;
    auto found = is_one ? ShiftOf(Build(wait.call, wait.coordinates.front().lo)) : std::nullopt;
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

/// The rank that is so much further round the ring; more than half of it is so much less backwards.
ExprId EventPlan::ShiftedRank(size_t call, int64_t shift) {
  ExprId rank = MakeRef(module_, coords_[call].front());
  if (shift == 0) {
    return rank;
  }
  ExprId ranks = AxisAt(call, 0).hi;
  ExprId sum = shift <= ranks_ / 2
                   ? MakeOffset(module_, rank, shift)
                   : MakeOffset(module_, MakeAdd(module_, rank, ranks), shift - ranks_);
  return module_.AddExpr(Binary{BinaryOp::Mod, sum, ranks});
}

}  // namespace etc
