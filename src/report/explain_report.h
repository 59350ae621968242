// What `etc explain` found of each kernel, as text or as JSON.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedule/choose_throttles.h"
#include "simulator/kernel_cost.h"
#include "simulator/routing.h"

namespace etc {

struct ExplainedKernel {
  KernelId id;
  Env sizes;  // of every dimension
  KernelCost cost;
  std::vector<ThrottleChoice> throttles;
  std::vector<std::vector<std::string>> reasons;  // of each call, why its edges are what they are
  std::optional<RoutingCost> routing = {};        // where one was asked for
};

struct ExplainReport {
  const Module& module;
  const Target& target;
  std::map<std::string, int64_t> sizes;   // those that were asked for, by dimension
  std::map<std::string, int64_t> values;  // the same, by integer parameter
  std::vector<ExplainedKernel> kernels;
  std::string routing = {};  // as it was asked for

  [[nodiscard]] const std::string& CalleeOf(NodeId share) const {
    return module.devices[std::get<Share>(module.nodes[share]).callee].name;
  }
  /// Its own, or its kernel's.
  [[nodiscard]] const std::optional<Throttle>& ThrottleOf(const Kernel& kernel,
                                                          NodeId share) const {
    const auto& own = std::get<Share>(module.nodes[share]).throttle;
    return own ? own : kernel.throttle;
  }
};

std::string ExplainText(const ExplainReport& report);
std::string ExplainJson(const ExplainReport& report);

}  // namespace etc
