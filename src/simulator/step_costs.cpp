#include "simulator/step_costs.h"

#include <algorithm>
#include <optional>

namespace etc {
namespace {

/// A product behind a softmax, or behind something else that takes as many reductions, is not one
/// of the tensor cores.
constexpr int64_t kVectorReductions = 3;

double WorkingTasks(const CallCost& call) {
  return static_cast<double>(std::max<int64_t>(call.working_tasks, 1));
}

}  // namespace

bool IsOnVectorUnits(const CallCost& call) { return call.reductions >= kVectorReductions; }

double TaskWork::Sum() const { return latency + read + std::max(taken, computed); }

TaskWork WorkOf(const CallCost& call, const Target& target, double size) {
  auto sms = static_cast<double>(target.sms);
  double tasks = WorkingTasks(call);
  double flops = IsOnVectorUnits(call) ? target.vector_flops
                 : call.in_tiles       ? target.tile_flops
                 : call.in_registers   ? target.register_flops
                                       : target.flops;
  TaskWork work;
  work.latency = target.task;
  if (call.is_own) {
    work.latency += target.reduction * static_cast<double>(call.reductions);
  }
  work.read = call.read_bytes / tasks / (target.plain_bytes / std::min(tasks, sms));
  work.taken = call.copied_bytes / tasks / (target.consumed_bytes / sms);
  work.computed = size * call.flops / tasks / (flops / sms);
  return work;
}

SimWork WorkOfTask(const CallCost& call, int64_t iteration, int64_t t, const Target& target) {
  double tasks = WorkingTasks(call);
  double active = std::min(tasks, static_cast<double>(target.sms));
  double size = 1;
  // The part that some task before has copied.
  double known = 1 - call.streamed_bytes / std::max(call.copied_bytes, 1.0);
  if (call.listed) {
    const ListedTasks& listed = *call.listed;
    const std::vector<Place>& taken =
        listed.taken[static_cast<size_t>(iteration) % listed.taken.size()];
    auto place = static_cast<size_t>(t / listed.tasks_of_place % listed.places);
    if (place >= taken.size()) {
      return {};
    }
    size = taken[place].size;
    known = taken[place].is_first ? 0 : 1;
  }
  SimWork work{.us = WorkOf(call, target, size).Sum(), .bytes = call.copied_bytes / tasks};
  work.sent = size * call.sent_bytes / tasks;
  work.memory = (1 - known) * work.bytes + size * call.spilled_bytes / tasks;
  work.fetched = size * std::max(call.fetched_bytes - call.first_bytes * active, 0.0) / tasks;
  return work;
}

SimMachine MachineOf(const Kernel& kernel, const Target& target) {
  constexpr double kLeastSlots = 2;
  double ring = target.sm_ring_bytes;
  if (kernel.shared_bytes > 0) {
    ring -= static_cast<double>(target.shared_bytes - kernel.shared_bytes);
  }
  if (kernel.depth) {
    ring = std::min(ring, static_cast<double>(*kernel.depth) * target.slot_bytes);
  }
  ring = std::max(ring, kLeastSlots * target.slot_bytes);
  return {target.sms,         target.copied_bytes, target.cache_bytes, ring,
          target.behind_wait, target.ticket,       target.arrival,     target.link_bytes};
}

SimStep StepOf(const Module& module, const Kernel& kernel, const CallCost& call,
               const Target& target) {
  const auto& share = std::get<Share>(module.nodes[call.share]);
  SimStep step;
  step.start = target.look + call.first_bytes / target.look_bytes;
  if (!call.is_own) {
    // What all tasks of an SM read is reduced once.
    step.start += target.reduction * static_cast<double>(call.reductions);
  }
  step.finish = target.store;
  // Before the throttle is chosen, a loader has as many slots on their way as most have then.
  const std::optional<Throttle>& own = share.throttle ? share.throttle : kernel.throttle;
  Throttle throttle = own.value_or(Throttle{.in_flight = target.loader_in_flight});
  auto rate = [&](int64_t slots) {
    double by_flight = static_cast<double>(slots) * target.slot_bytes / target.flight;
    double by_interval =
        target.slot_bytes * target.cycles / std::max(static_cast<double>(throttle.interval), 1.0);
    return std::min(by_flight, by_interval);
  };
  step.load_rate = rate(throttle.in_flight);
  step.ahead_rate = rate(throttle.ahead.value_or(throttle.in_flight));
  step.launch = target.launch_start;
  return step;
}

}  // namespace etc
