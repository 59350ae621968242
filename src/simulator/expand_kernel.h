// From a kernel, at given sizes, to what is played: its shares round by round, their tasks on SMs,
// and the signals between them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"
#include "simulator/call_costs.h"
#include "simulator/play.h"
#include "target/target.h"

namespace etc {

/// How finely a kernel is played.
enum class Grain : uint8_t {
  Tasks,   // each task, and each round of a repeat
  Shares,  // the tasks of an SM in a share as one, and of a long repeat a few rounds; not of cases
};

/// What is played of a kernel, and how often it stands for the same again.
struct KernelPlay {
  SimProgram program;
  std::vector<double> weights;  // of each step
};

/// `calls` as CountCalls has them. `edges` as there.
KernelPlay ExpandKernel(const Module& module, const Kernel& kernel, const Env& dims,
                        const Target& target, const std::vector<CallCost>& calls, Edges edges,
                        Grain grain);

}  // namespace etc
