// What the tasks of a call cost on a target: from bytes and operations to times.
#pragma once

#include "ir/module.h"
#include "simulator/call_costs.h"
#include "simulator/play.h"
#include "target/target.h"

namespace etc {

/// Microseconds that the consumers work on one task when nothing is missing, by what they do.
struct TaskWork {
  double latency = 0;   // the task itself, and reductions one after the other
  double read = 0;      // plain loads
  double taken = 0;     // what the ring holds, beside the operations
  double computed = 0;  // the operations
  double Sum() const;
};

TaskWork WorkOf(const CallCost& call, const Target& target);

SimMachine MachineOf(const Target& target);

/// One task of the call.
SimStep StepOf(const Module& module, const Kernel& kernel, const CallCost& call,
               const Target& target);

}  // namespace etc
