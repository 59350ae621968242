// The nodes of a graph, copied for a call of it.
#pragma once

#include <vector>

#include "ir/module.h"
#include "ir/rewrite.h"

namespace etc {

/// A copy of the nodes of `graph` over the arguments of `call` in the place of the parameters, and
/// these values of the generic ones. Its buffers and events are its own.
[[nodiscard]] std::vector<NodeId> InlineGraph(Module& module, GraphId graph, const CallNode& call,
                                              Substitution generics);

}  // namespace etc
