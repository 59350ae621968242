// A version of a control tensor for each iteration of the repeat that computes it.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// Gives each buffer of the graph from which a call reads its task range, and which each iteration
/// of a repeat writes anew, an axis for the iterations. An SM without a task reads the range as
/// well, and nothing says when it has, so the buffer must not be written again in the launch.
/// `remarks`: says so.
void VersionControlBuffers(Module& module, const Graph& graph, bool remarks,
                           Diagnostics& diagnostics);

}  // namespace etc
