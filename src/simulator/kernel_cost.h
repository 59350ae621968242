// How long a kernel takes on a target, and where the time goes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/module.h"
#include "simulator/call_costs.h"
#include "target/target.h"

namespace etc {

struct KernelCost {
  std::vector<CallCost> calls;  // in program order
  double bytes = 0;             // that must be read once
  double flops = 0;
  double floor_us = 0;
  Times times;
};

/// What the target makes of the kernel at these sizes; `dims` has every dimension. Each element of
/// an integer parameter counts as the value that `elements` has for its name, else as the largest
/// that it may be. A kernel that draws more than kMostPlayedTasks tasks takes for ever.
KernelCost CostOf(const Module& module, const Kernel& kernel, const Env& dims, const Target& target,
                  const std::map<std::string, int64_t>& elements = {},
                  Edges edges = Edges::Scheduled);

}  // namespace etc
