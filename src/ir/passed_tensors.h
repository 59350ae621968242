// What calls pass to their callees.
#pragma once

#include <set>
#include <vector>

#include "ir/module.h"

namespace etc {

/// The tensors that calls among these nodes, at any depth, have as arguments.
std::set<TensorId> PassedTensors(const Module& module, const std::vector<NodeId>& nodes);

}  // namespace etc
