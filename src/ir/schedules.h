// How the calls of a graph get to the SMs.
#pragma once

#include <set>

#include "ir/module.h"

namespace etc {

/// The schedules of the calls of the graph: `auto` where nobody says one.
std::set<ScheduleKind> SchedulesOf(const Module& module, const Graph& graph);

}  // namespace etc
