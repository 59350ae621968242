#include "ir/schedules.h"

#include <optional>
#include <variant>
#include <vector>

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

}  // namespace

std::set<ScheduleKind> SchedulesOf(const Module& module, const Graph& graph) {
  std::set<ScheduleKind> kinds;
  CollectSchedules(module, graph.body, graph.schedule, kinds);
  return kinds;
}

}  // namespace etc
