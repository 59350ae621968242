// The nodes of a graph, copied for a call of it.
#pragma once

#include <set>
#include <vector>

#include "expand/deduce.h"
#include "ir/module.h"

namespace etc {

/// Takes parameters that there are not out of the arguments of a call.
void LeaveOut(CallNode& call, const std::set<TensorId>& absent);

/// A copy of these nodes of `graph` over the arguments of `call` in the place of the parameters
/// that there are, and these values of the generic ones. Its buffers and events are its own.
[[nodiscard]] std::vector<NodeId> InlineNodes(Module& module, const Graph& graph,
                                              const std::vector<NodeId>& nodes,
                                              const CallNode& call, Deduced deduced);

/// Where the buffer of an inlined call stands among the nodes of the graph around: in front of the
/// first buffer that none of them uses, so that what is used together lies together.
std::vector<NodeId>::iterator PlaceOfBuffer(const Module& module, std::vector<NodeId>& nodes);

}  // namespace etc
