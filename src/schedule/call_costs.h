// What the calls of a kernel move and compute, before anything is said of time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedule/cost_model.h"

namespace etc {

/// The bytes, operations, tasks and edges of each share in program order, at given sizes.
/// `elements`: values of tensors that data decide, by name.
std::vector<CallCost> CountCalls(const Module& module, const Kernel& kernel, const Env& dims,
                                 const Target& target,
                                 const std::map<std::string, int64_t>& elements, Edges edges);

}  // namespace etc
