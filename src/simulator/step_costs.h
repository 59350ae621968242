// What the tasks of a call cost on a target: from bytes and operations to times.
#pragma once

#include "ir/module.h"
#include "simulator/call_costs.h"
#include "simulator/play.h"
#include "target/target.h"

namespace etc {

/// Whether the call's operations are not those of the tensor cores.
bool IsOnVectorUnits(const CallCost& call);

/// Microseconds that the consumers work on one task when nothing is missing, by what they do.
struct TaskWork {
  double latency = 0;   // the task itself, and reductions one after the other
  double read = 0;      // plain loads
  double taken = 0;     // what the ring holds, beside the operations
  double computed = 0;  // the operations
  double Sum() const;
};

/// Of a task whose place in a list has `size` times what the mean place has.
TaskWork WorkOf(const CallCost& call, const Target& target, double size = 1);

/// With the ring that the kernel's shared memory and depth leave.
SimMachine MachineOf(const Kernel& kernel, const Target& target);

/// Task `t` of the call in one iteration.
SimWork WorkOfTask(const CallCost& call, int64_t iteration, int64_t t, const Target& target);

/// The call in one iteration.
SimStep StepOf(const Module& module, const Kernel& kernel, const CallCost& call,
               const Target& target);

}  // namespace etc
