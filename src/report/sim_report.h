// What `etc sim` found of each kernel, as text or as JSON.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulator/call_costs.h"
#include "simulator/routing.h"
#include "simulator/simulate.h"
#include "target/target.h"

namespace etc {

struct SimulatedKernel {
  KernelId id;
  Env sizes;  // of every dimension
  std::vector<CallCost> calls;
  Simulation simulation;
  std::optional<RoutingCost> routing = {};
};

struct SimReport {
  const Module& module;
  const Target& target;
  std::map<std::string, int64_t> sizes;   // those that were asked for, by dimension
  std::map<std::string, int64_t> values;  // the same, by integer parameter
  std::vector<SimulatedKernel> kernels;
  std::string routing = {};  // as it was asked for
  int64_t hosts = 1;
};

std::string SimText(const SimReport& report);
std::string SimJson(const SimReport& report);

}  // namespace etc
