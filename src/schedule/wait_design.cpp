#include "schedule/wait_design.h"

#include <fmt/format.h>

#include "ir/loader_reads.h"
#include "schedule/computed_tables.h"

namespace etc {
namespace {

IterationWait IterationsOf(const Dependence& dependence, const Iterations& iterations,
                           size_t repeat, const Need& need) {
  if (repeat < dependence.repeats) {
    return {IterationWait::Kind::Same};
  }
  bool carries = dependence.carried && repeat == dependence.repeats;
  if (carries && iterations.distance > 0) {
    return {IterationWait::Kind::Earlier, iterations.distance};
  }
  if (!carries && iterations.latest_from == 1) {
    return {IterationWait::Kind::Last};
  }
  if (need.whole) {
    return {carries ? IterationWait::Kind::Before : IterationWait::Kind::All};
  }
  return {IterationWait::Kind::Range, 0, need.lo, need.last};
}

/// The rank of a reader, in a program of all ranks.
const TaskExpr kOwnRank{TaskExpr::Kind::Coordinate, 0};

}  // namespace

void WaitDesign::StayOnRank(Needs& needs) {
  needs.coordinates.front() = {false, kOwnRank, kOwnRank, 1, {}};
}

Needs WaitDesign::OfAll(const Dependence& dependence, bool on_own_rank) const {
  Needs needs = Needs::OfAll(program_.calls[dependence.from]);
  if (on_own_rank) {
    StayOnRank(needs);
  }
  return needs;
}

/// The coordinate of what is needed that is the reader's rank: that of the task itself, or the one
/// by which it says at which peer it writes.
std::optional<size_t> WaitDesign::RankIn(const Dependence& dependence, const Needs& needs,
                                         const std::vector<std::optional<TaskKey>>& keys) const {
  for (size_t i = 0; program_.of_ranks && i < needs.coordinates.size(); ++i) {
    const Need& need = needs.coordinates[i];
    if (!need.whole && need.length == 1 && need.lo == kOwnRank && !keys[i] &&
        plan_.CanSplit(dependence.from, i)) {
      return i;
    }
  }
  return std::nullopt;
}

void WaitDesign::Add(const Dependence& dependence, const Iterations& iterations, const Needs& needs,
                     bool split, std::vector<std::optional<TaskKey>> keys) {
  const ProgramCall& from = program_.calls[dependence.from];
  const ProgramCall& to = program_.calls[dependence.to];
  if (LoadsBehindWait(module_, *to.device, to.args)) {
    split = false;
    keys.clear();
  }
  keys.resize(from.axes.size());
  std::vector<int64_t> grains(from.axes.size(), 0);
  PlannedWait wait{dependence.to, {}, {}, needs.guard, {}, 1, false, Why(dependence)};
  wait.reads_table = !ComputedTablesIn(module_, needs).empty();
  if (iterations.first_to > 0) {
    wait.first_only = dependence.Related();
    wait.first_iterations = iterations.first_to;
  }
  for (size_t i = 0; i < from.repeats.size(); ++i) {
    wait.iterations.push_back(IterationsOf(dependence, iterations, i, needs.iterations[i]));
  }
  const std::optional<size_t> rank = RankIn(dependence, needs, keys);
  for (size_t i = 0; i < grains.size(); ++i) {
    const Need& need = needs.coordinates[i];
    if (i == rank) {
      grains[i] = 1;
      wait.coordinates.push_back({need.lo, {}});
      continue;
    }
    if (!split) {
      continue;
    }
    grains[i] = plan_.CanSplit(dependence.from, i) ? Grain(dependence.from, need) : 0;
    if (grains[i] > 1 && (keys[i] || !plan_.IsAlone(dependence.from, i))) {
      grains[i] = 0;  // its tasks' number would be another for each value
    }
    if (grains[i] > 0 && !IsAmong(dependence, i, grains[i], need)) {
      grains[i] = 0;
    }
    if (grains[i] > 1) {
      wait.coordinates.push_back({*need.chunk, {}});
    } else if (grains[i] == 1) {
      bool one = need.length == 1;
      wait.coordinates.push_back({need.lo, one ? std::nullopt : std::optional(need.last)});
    }
  }
  // What the call notifies for others already, costs no further signal.
  for (PlannedEvent& planned : plan_.events) {
    if (planned.from == dependence.from && planned.grains == grains && planned.keys == keys &&
        planned.rank == rank) {
      planned.waits.push_back(std::move(wait));
      return;
    }
  }
  auto cause = dependences_.CauseOf(dependence);
  std::string name = fmt::format("{}_{}", module_.tensors[cause.tensor].name,
                                 cause.from_writes ? "ready" : "free");
  EventId event = plan_.NewEvent(std::move(name), from.range);
  plan_.events.push_back(
      {event, dependence.from, std::move(grains), std::move(keys), rank, {}, {std::move(wait)}});
}

/// Whether a wait for one coordinate names elements that there are, also in those ranges of the
/// specialisation that lack the dependence: what is needed in the others says nothing of them.
bool WaitDesign::IsAmong(const Dependence& dependence, size_t coordinate, int64_t grain,
                         const Need& need) {
  const TaskExpr& last = grain > 1 ? *need.chunk : need.last;
  for (size_t i = 0; i < programs_.size(); ++i) {
    if (!dependences_.ExistsIn(i, dependence) &&
        !plan_.IsAmong(dependence.from, coordinate, grain, dependence.to, last,
                       programs_[i].ranges)) {
      return false;
    }
  }
  return true;
}

std::string WaitDesign::Why(const Dependence& dependence) {
  auto cause = dependences_.CauseOf(dependence);
  return fmt::format("it {} `%{}`, which `@{}` {}", cause.to_writes ? "writes" : "reads",
                     module_.tensors[cause.tensor].name,
                     program_.calls[dependence.from].device->name,
                     cause.from_writes ? "writes" : "reads");
}

/// How finely an event tells the values of a coordinate apart (see PlannedEvent::grains).
int64_t WaitDesign::Grain(size_t call, const Need& need) const {
  if (need.whole || coarse_[call]) {
    return 0;
  }
  if (need.length == 1) {
    return 1;
  }
  if (need.chunk) {
    return *need.length;
  }
  return need.length && *need.length <= kMostWaits ? 1 : 0;
}

}  // namespace etc
