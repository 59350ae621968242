// The groups of invariants. Each function reports what it finds and changes nothing.
#pragma once

#include <set>

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

void CheckConstants(const Module& module, Diagnostics& diagnostics);
void CheckDevice(const Module& module, const Device& device, Diagnostics& diagnostics);
void CheckImpls(const Module& module, const Device& device, Diagnostics& diagnostics);
void CheckGraph(const Module& module, const Graph& graph, Diagnostics& diagnostics);
void CheckKernel(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);
void CheckStreams(const Module& module, const Graph& graph, Diagnostics& diagnostics);
void CheckStreams(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);
void CheckSpecialisation(const Module& module, const Graph& graph, Diagnostics& diagnostics);
void CheckWhere(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);
void CheckDependences(const Module& module, const Graph& graph, Diagnostics& diagnostics);

/// Two shares that use a tensor, one of them writing, and that no chain of events joins.
struct UnjoinedUses {
  NodeId first;
  NodeId second;
  TensorId tensor;
  bool first_by_tasks;  // else by what says which tasks there are, or what they wait for
  bool second_by_tasks;
  SymbolId carrier;  // the repeat of which the second is in a later iteration, if it is

  auto operator<=>(const UnjoinedUses&) const = default;
};

/// All of a kernel, as if it did not have the events `without`, whichever elements they touch.
/// Tagged buffers order their own uses.
std::set<UnjoinedUses> FindUnjoinedUses(const Module& module, const Kernel& kernel,
                                        const std::set<EventId>& without);

// These evaluate at chosen sizes; they need a module without errors in the groups above.
void CheckBodyBounds(const Module& module, const Device& device, Diagnostics& diagnostics);
void CheckEventFlow(const Module& module, const Graph& graph, Diagnostics& diagnostics);
void CheckEventFlow(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);

}  // namespace etc
