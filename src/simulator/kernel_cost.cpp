#include "simulator/kernel_cost.h"

#include <algorithm>
#include <limits>

#include "simulator/simulate.h"
#include "simulator/step_costs.h"

namespace etc {
namespace {

/// What the chain that sets the time spends in a call, by what sets it there.
Times TimesOf(const CallCost& call, const PathTimes& path, const Target& target) {
  TaskWork work = WorkOf(call, target);
  double part = path.work / std::max(work.Sum(), 1e-9);
  Limit longer = work.taken > work.computed ? Limit::Memory : Limit::Operations;
  Times times;
  times[Limit::Signals] = path.signals;
  times[Limit::Cache] = path.cache;
  times[Limit::Memory] = path.data + part * work.read;
  times[Limit::Tasks] = part * work.latency;
  times[longer] += part * std::max(work.taken, work.computed);
  return times;
}

}  // namespace

KernelCost CostOf(const Module& module, const Kernel& kernel, const Env& dims, const Target& target,
                  const std::map<std::string, int64_t>& elements, Edges edges) {
  KernelCost cost;
  cost.calls = CountCalls(module, kernel, dims, target, elements, edges);
  if (!DispatchesOf(module, kernel).empty() && TasksOf(cost.calls) > kMostPlayedTasks) {
    cost.times[Limit::Tasks] = std::numeric_limits<double>::infinity();
    return cost;
  }
  FindSpills(target, cost.calls);
  Simulation simulation = Simulate(module, kernel, dims, target, cost.calls, edges, Grain::Shares);
  cost.times[Limit::Signals] = simulation.launch_us;
  for (size_t i = 0; i < cost.calls.size(); ++i) {
    CallCost& call = cost.calls[i];
    auto iterations = static_cast<double>(std::max<int64_t>(call.iterations, 1));
    call.times = TimesOf(call, simulation.path[i], target);
    for (size_t limit = 0; limit < kLimits; ++limit) {
      cost.times.us[limit] += call.times.us[limit];
      call.times.us[limit] /= iterations;
    }
    call.floor_us = (call.streamed_bytes + call.read_bytes) / target.stream_bytes;
    call.latency_us = call.times[Limit::Signals];
    cost.flops += iterations * call.flops;
  }
  cost.bytes = BytesReadOnce(module, cost.calls, dims);
  cost.floor_us = cost.bytes / target.stream_bytes;
  cost.times[Limit::Power] = std::max(simulation.us - cost.times.Sum(), 0.0);
  return cost;
}

}  // namespace etc
