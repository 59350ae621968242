// The nodes of a graph, copied for a call of it.
#pragma once

#include <set>
#include <vector>

#include "expand/deduce.h"
#include "ir/module.h"

namespace etc {

/// Takes parameters that there are not out of the arguments of a call.
void LeaveOut(CallNode& call, const std::set<TensorId>& absent);

/// A copy of the nodes of `graph` over the arguments of `call` in the place of the parameters that
/// there are, and these values of the generic ones. Its buffers and events are its own.
[[nodiscard]] std::vector<NodeId> InlineGraph(Module& module, GraphId graph, const CallNode& call,
                                              Deduced deduced);

}  // namespace etc
