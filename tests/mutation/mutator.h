// Small damage to the synchronisation, the bounds and the buffers of a program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/module.h"

namespace etc::mutation {

/// One way to damage a module. Ids in it are those of the module it was made for.
struct Mutation {
  std::string what;  // the operator: `drop wait`, `shift index of an event`, …
  std::function<void(Module&)> apply;
  bool of_dispatch = false;  // what gives out tasks: pushes, arrivals, triggers, places, tickets
};

/// Every mutation of the graphs, kernels and device functions of the module, in a fixed order.
std::vector<Mutation> Mutations(const Module& module);

}  // namespace etc::mutation
