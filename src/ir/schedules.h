// How the calls of a graph get to the SMs.
#pragma once

#include <cstdint>
#include <set>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// The schedules of the calls of the graph: `auto` where nobody says one.
std::set<ScheduleKind> SchedulesOf(const Module& module, const Graph& graph);

/// Of a graph or a kernel whose calls are launches: the runtime loads no more.
inline constexpr int64_t kMostLaunches = 1 << 20;

/// The launches of the nodes and the rounds of their repeats, which count as launches too: those
/// that there are at all sizes in `ranges`. One more than `kMostLaunches` stands for all above.
int64_t LaunchesOf(const Module& module, const std::vector<NodeId>& nodes, const DimRanges& ranges);

}  // namespace etc
