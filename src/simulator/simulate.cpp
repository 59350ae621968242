#include "simulator/simulate.h"

#include <algorithm>
#include <numeric>

#include "simulator/step_costs.h"

namespace etc {
namespace {

/// The energy of what is computed and moved, over what the card may draw beside its own share.
double PowerTime(const std::vector<CallCost>& calls, const Target& target) {
  double energy = 0;
  for (const CallCost& call : calls) {
    double bytes = call.streamed_bytes + call.read_bytes + call.spilled_bytes;
    double of_flop = IsOnVectorUnits(call) ? target.vector_energy : target.flop_energy;
    energy +=
        static_cast<double>(call.iterations) * (call.flops * of_flop + bytes * target.byte_energy +
                                                call.fetched_bytes * target.fetch_energy);
  }
  return energy / (target.watts - target.idle_watts);
}

}  // namespace

double TasksOf(const std::vector<CallCost>& calls) {
  return std::accumulate(calls.begin(), calls.end(), 0.0, [](double sum, const CallCost& call) {
    return sum + static_cast<double>(call.tasks) * static_cast<double>(call.iterations);
  });
}

Simulation Simulate(const Module& module, const Kernel& kernel, const Env& dims,
                    const Target& target, const std::vector<CallCost>& calls, Edges edges,
                    Grain grain) {
  Simulation simulation;
  simulation.play = ExpandKernel(module, kernel, dims, target, calls, edges, grain);
  const SimProgram& program = simulation.play.program;
  simulation.run = Play(program);
  simulation.path.resize(calls.size());
  std::vector<PathTimes> steps = CriticalPath(program, simulation.run);
  for (size_t i = 0; i < steps.size(); ++i) {
    double times = simulation.play.weights[i];
    PathTimes& call = simulation.path[program.steps[i].call];
    call.work += times * steps[i].work;
    call.data += times * steps[i].data;
    call.cache += times * steps[i].cache;
    call.signals += times * steps[i].signals;
  }
  simulation.launch_us = target.launch;
  simulation.full_clock_us =
      std::accumulate(simulation.path.begin(), simulation.path.end(), target.launch,
                      [](double sum, const PathTimes& call) { return sum + call.Sum(); });
  simulation.power_us = PowerTime(calls, target);
  simulation.us = std::max(simulation.full_clock_us, simulation.power_us);
  return simulation;
}

}  // namespace etc
