#include "simulator/simulate.h"

#include <numeric>

namespace etc {

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
  simulation.us =
      std::accumulate(simulation.path.begin(), simulation.path.end(), target.launch,
                      [](double sum, const PathTimes& call) { return sum + call.Sum(); });
  return simulation;
}

}  // namespace etc
