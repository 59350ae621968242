// Plays a kernel at given sizes on a target.
#pragma once

#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"
#include "simulator/call_costs.h"
#include "simulator/critical_path.h"
#include "simulator/expand_kernel.h"
#include "simulator/play.h"
#include "target/target.h"

namespace etc {

struct Simulation {
  KernelPlay play;
  SimRun run;
  std::vector<PathTimes> path;  // of each call, in all its rounds
  double launch_us = 0;         // from the launch to the first task
  double full_clock_us = 0;     // all, if the card may draw what it takes
  double power_us = 0;          // what its energy takes at the power that the card may draw
  double us = 0;                // the longer of both
};

/// So many tasks are played one by one at most: each takes memory.
inline constexpr double kMostPlayedTasks = 2e7;
/// All that the calls run.
double TasksOf(const std::vector<CallCost>& calls);

/// `calls` as CountCalls has them.
Simulation Simulate(const Module& module, const Kernel& kernel, const Env& dims,
                    const Target& target, const std::vector<CallCost>& calls, Edges edges,
                    Grain grain);

}  // namespace etc
