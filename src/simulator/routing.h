// What a routing touches: which experts the tokens of a step are sent to, and what a kernel reads
// and runs because of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"
#include "simulator/call_costs.h"

namespace etc {

/// How tokens choose. Without choices of its own, of each expert with the weight of its rank: equal
/// ones, or rank^-exponent.
struct Routing {
  double exponent = 0;
  std::vector<std::vector<int64_t>> choices;  // of each layer, all tokens' in one; one: of all
};

/// A call that reads tensors at the experts that are chosen.
struct RoutedCall {
  size_t call;  // its place among those of the kernel
  std::vector<TensorId> tensors = {};
  int64_t experts = 0;         // that it has, all or those of its rank
  double expert_bytes = 0;     // that it reads of one of them in an iteration
  int64_t tokens_at_once = 0;  // of one expert, in one place of a list; 0: all
  int64_t places = 0;          // of a list, or of a sum over used experts; 0: there is none
  int64_t tasks_of_place = 0;  // which follow each other; 0: each task has all places
  std::optional<double> tasks =
      {};  // per iteration that have an expert; absent where values decide
};

struct RoutingCost {
  size_t router = 0;  // the call that chooses
  int64_t tokens = 0;
  int64_t chosen = 0;                           // by each of them
  int64_t experts = 0;                          // of so many
  std::vector<int64_t> distinct;                // experts of each layer
  std::vector<std::vector<int64_t>> tokens_of;  // of each layer, how many each expert has
  std::vector<RoutedCall> calls;
  double mean_distinct = 0;
  double bytes = 0;  // of experts, in a launch
};

/// What the routing touches where calls of a kernel choose by `topk`: nothing where none does. A
/// message in the place of the cost where the choices do not fit.
std::optional<RoutingCost> CostOfRouting(const Module& module, const Kernel& kernel,
                                         const std::vector<CallCost>& calls, const Env& dims,
                                         const Routing& routing, std::string* mismatch);

/// The calls as they are under the routing: what they read of experts, and how many tasks have one.
void ApplyRouting(const RoutingCost& routing, std::vector<CallCost>& calls);

}  // namespace etc
