#include "ir/schedules.h"

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "ir/checked.h"
#include "ir/overloaded.h"

namespace etc {
namespace {

/// Adds the schedules of the calls in `nodes`.
void CollectSchedules(const Module& module, const std::vector<NodeId>& nodes,
                      std::optional<ScheduleKind> around, std::set<ScheduleKind>& kinds) {
  for (NodeId id : nodes) {
    std::visit(
        Overloaded{
            [&](const CallNode& call) {
              kinds.insert(call.schedule.value_or(around.value_or(ScheduleKind::Auto)));
            },
            [&](const Repeat& repeat) { CollectSchedules(module, repeat.body, around, kinds); },
            [&](const Region& region) {
              CollectSchedules(module, region.body, region.schedule, kinds);
            },
            [](const OneOf<BufferDecl, EventDecl, Share, Dispatch> auto&) {},
        },
        module.nodes[id]);
  }
}

/// How often a repeat runs at the least; once where sizes may make it none, as a runtime that does
/// not know them counts.
int64_t FewestRounds(const Module& module, const Repeat& repeat, const DimRanges& ranges) {
  auto lo = Bounds(module, repeat.lo, {}, ranges);
  auto hi = Bounds(module, repeat.hi, {}, ranges);
  if (!lo || !hi) {
    return 1;
  }
  bool constant = lo->lo == lo->hi && hi->lo == hi->hi;
  int64_t rounds = CheckedSub(hi->lo, lo->hi).value_or(kMostLaunches + 1);
  return std::max<int64_t>(rounds, constant ? 0 : 1);
}

}  // namespace

int64_t LaunchesOf(const Module& module, const std::vector<NodeId>& nodes,
                   const DimRanges& ranges) {
  constexpr int64_t kTooMany = kMostLaunches + 1;
  int64_t launches = 0;
  for (NodeId id : nodes) {
    launches += std::visit(
        Overloaded{
            [](const OneOf<CallNode, Share> auto&) -> int64_t { return 1; },
            [&](const Repeat& repeat) {
              int64_t rounds = std::min(FewestRounds(module, repeat, ranges), kTooMany);
              return rounds * (1 + LaunchesOf(module, repeat.body, ranges));
            },
            [&](const Region& region) { return LaunchesOf(module, region.body, ranges); },
            [](const OneOf<BufferDecl, EventDecl, Dispatch> auto&) -> int64_t { return 0; },
        },
        module.nodes[id]);
    launches = std::min(launches, kTooMany);
  }
  return launches;
}

std::set<ScheduleKind> SchedulesOf(const Module& module, const Graph& graph) {
  std::set<ScheduleKind> kinds;
  CollectSchedules(module, graph.body, graph.schedule, kinds);
  return kinds;
}

}  // namespace etc
