// One kernel or launches, for each range of sizes by a tuning or by what the simulator says of
// both.
#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "ir/evaluate.h"
#include "ir/schedules.h"
#include "schedule/kernel_builder.h"
#include "schedule/lower.h"
#include "schedule/schedule_cost.h"
#include "support/parallel.h"

namespace etc {
namespace {

/// Whether nobody has said how any call of the graph gets to the SMs.
bool IsAuto(const Module& module, const Graph& graph, const ScheduleOptions& options) {
  return options.schedule ? *options.schedule == ScheduleKind::Auto
                          : SchedulesOf(module, graph) == std::set{ScheduleKind::Auto};
}

/// What a tuning says of the graph. Of a program with a mesh it says the same for each number of
/// ranks.
std::optional<ScheduleKind> Tuned(const Module& module, const Graph& graph,
                                  const ScheduleOptions& options) {
  const DimRanges ranges = RangesOf(module, graph.where);
  for (const TunedSchedule& tuned : options.tuned) {
    const DimRanges wanted = RangesOf(module, tuned.where);
    bool holds = std::all_of(wanted.begin(), wanted.end(), [&](const auto& one) {
      auto found = ranges.find(one.first);
      return found != ranges.end() && found->second == one.second;
    });
    if (holds && tuned.graph == SourceName(graph)) {
      return tuned.kind;
    }
  }
  return std::nullopt;
}

}  // namespace

bool ChooseSchedule(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics) {
  if (!AskedFitsMesh(module, options, diagnostics)) {
    return false;
  }
  std::vector<GraphId> left;  // to the simulator
  for (const Item& item : module.items) {
    const auto* id = std::get_if<GraphId>(&item);
    if (id == nullptr || !module.graphs[*id].specialisations.empty() ||
        !IsAuto(module, module.graphs[*id], options)) {
      continue;
    }
    if (auto tuned = Tuned(module, module.graphs[*id], options)) {
      module.graphs[*id].schedule = *tuned;
    } else {
      left.push_back(*id);
    }
  }
  std::vector<ScheduleKind> kinds(left.size());
  ForEachInParallel(left.size(),
                    [&](size_t i) { kinds[i] = ScheduleByCost(module, left[i], options); });
  for (size_t i = 0; i < left.size(); ++i) {
    module.graphs[left[i]].schedule = kinds[i];
  }
  return true;
}

}  // namespace etc
