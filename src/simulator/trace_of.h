// What was played, as a trace: the same that the profiler makes of a launch.
#pragma once

#include "ir/evaluate.h"
#include "ir/module.h"
#include "simulator/call_costs.h"
#include "simulator/simulate.h"
#include "trace/trace.h"

namespace etc {

/// Adds a process for the kernel, with two tracks for each SM. It must have been played task by
/// task.
void AddTo(trace::Trace& trace, const Module& module, const Kernel& kernel, const Env& dims,
           const std::vector<CallCost>& calls, const Simulation& simulation);

}  // namespace etc
