// From a module with imports, functions, generic parameters and graphs that call graphs to a flat
// one: what all that follows works on.
#pragma once

#include <cstdint>

#include "expand/decisions.h"
#include "expand/sites.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// What a program may know of the machine that its schedule is chosen for.
struct TargetConstants {
  int64_t sms;
  int64_t shared_bytes;  // the most dynamic shared memory of a CTA
};

struct ExpandOptions {
  TargetConstants target;
  Advise advise = {};                          // what no call pins; absent: by formula
  std::vector<Decision>* decisions = nullptr;  // gets what was decided, in order
  std::vector<OpenSite>* sites = nullptr;      // gets the calls that left it open
};

/// Whether kernels are made of the graph: it has neither generic parameters nor alternatives.
/// Others are parts of the graphs that call them.
inline bool BecomesKernels(const Graph& graph) {
  return graph.generics.empty() && graph.alternatives.empty();
}

/// Puts the values of `target_sms` and `target_shared_bytes`, each `let` of the top level and each
/// `fn` in the place of its name, the nodes of a called graph in the place of its call, and makes a
/// device function of a generic one for each list of values that its calls give it. What operators
/// leave open is decided for each range of sizes: a choice becomes one number or one for each
/// range, and the calls of an alternative have tasks in the ranges that it is taken for. Graphs
/// that are imported or generic, and what only they use, go. A module that is flat stays as it is.
/// False after an error.
[[nodiscard]] bool Expand(Module& module, const ExpandOptions& options, Diagnostics& diagnostics);

}  // namespace etc
