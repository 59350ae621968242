// From a module with imports, functions, generic parameters and graphs that call graphs to a flat
// one: what all that follows works on.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// Puts each `let` of the top level and each `fn` in the place of its name, the nodes of a called
/// graph in the place of its call, and makes a device function of a generic one for each list of
/// values that its calls give it. Graphs that are imported or generic, and what only they use, go.
/// A module that is flat stays as it is. False after an error.
[[nodiscard]] bool Expand(Module& module, Diagnostics& diagnostics);

}  // namespace etc
