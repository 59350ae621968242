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

double TaskWork::Sum() const { return latency + read + std::max(taken, computed); }

TaskWork WorkOf(const CallCost& call, const Target& target) {
  auto sms = static_cast<double>(target.sms);
  double tasks = WorkingTasks(call);
  double flops = call.reductions >= kVectorReductions ? target.vector_flops : target.flops;
  TaskWork work;
  work.latency = target.task;
  if (call.is_own) {
    work.latency += target.reduction * static_cast<double>(call.reductions);
  }
  work.read = call.read_bytes / tasks / (target.plain_bytes / std::min(tasks, sms));
  work.taken = call.streamed_bytes / tasks / (target.consumed_bytes / sms);
  work.computed = call.flops / tasks / (flops / sms);
  return work;
}

SimMachine MachineOf(const Target& target) {
  return {target.sms,           target.copied_bytes, target.cache_bytes,
          target.sm_ring_bytes, target.behind_wait,  target.ticket};
}

SimStep StepOf(const Module& module, const Kernel& kernel, const CallCost& call,
               const Target& target) {
  const auto& share = std::get<Share>(module.nodes[call.share]);
  double tasks = WorkingTasks(call);
  double active = std::min(tasks, static_cast<double>(target.sms));
  SimStep step;
  step.bytes = call.streamed_bytes / tasks;
  step.fetched = std::max(call.fetched_bytes - call.first_bytes * active, 0.0) / tasks;
  step.start = target.look + call.first_bytes / target.look_bytes;
  if (!call.is_own) {
    // What all tasks of an SM read is reduced once.
    step.start += target.reduction * static_cast<double>(call.reductions);
  }
  step.work = WorkOf(call, target).Sum();
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
