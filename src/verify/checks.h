// The groups of invariants. Each function reports what it finds and changes nothing.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// Of a module that has a mesh. Expressions may be of wrong kinds yet.
void CheckMesh(const Module& module, Diagnostics& diagnostics);
/// Its numbers of ranks alone.
void CheckMeshValues(const Module& module, Diagnostics& diagnostics);
/// Whether constants have values, dimensions sizes, and the requirements hold.
[[nodiscard]] bool CheckConstants(const Module& module, Diagnostics& diagnostics);
void CheckDevice(const Module& module, const Device& device, Diagnostics& diagnostics);
void CheckBodyFlow(const Module& module, const Device& device, Diagnostics& diagnostics);
void CheckImpls(const Module& module, const Device& device, Diagnostics& diagnostics);
void CheckGraph(const Module& module, const Graph& graph, Diagnostics& diagnostics);
void CheckKernel(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);
void CheckWritten(const Module& module, const Graph& graph, Diagnostics& diagnostics);
void CheckWritten(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);
void CheckPreloaded(const Module& module, const Graph& graph, Diagnostics& diagnostics);
void CheckPreloaded(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);
void CheckRangeWaits(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);
void CheckSpecialisation(const Module& module, const Graph& graph, Diagnostics& diagnostics);
/// That no graph has the name of a kernel that another one becomes.
void CheckKernelNames(const Module& module, Diagnostics& diagnostics);
void CheckWhere(const Module& module, const std::vector<Where>& ranges, Diagnostics& diagnostics);
void CheckDependences(const Module& module, const Graph& graph, Diagnostics& diagnostics);
/// Of a module for several ranks: warns where each of them sends the same to be added up.
void CheckSameOnRanks(const Module& module, const Graph& graph, Diagnostics& diagnostics);

// These evaluate at chosen sizes; they need a module without errors in the groups above.
void CheckBodyBounds(const Module& module, const Device& device, Diagnostics& diagnostics);
/// Of what the value ranges of parameters read.
void CheckRangeBounds(const Module& module, const Graph& graph, Diagnostics& diagnostics);
void CheckEventFlow(const Module& module, const Graph& graph, Diagnostics& diagnostics);
void CheckEventFlow(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);

}  // namespace etc
