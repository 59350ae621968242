// Checks of the tensors of a checkpoint that parameters name.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"
#include "verify/expr_checker.h"

namespace etc {

/// A parameter that names tensors is read alone, its extents are constants, and the indices in each
/// name belong to leading axes, in front of those that a tile covers. What is taken of an axis of a
/// tensor is the parameter's axis.
void CheckSources(const Module& module, const Tensor& param, ExprChecker& exprs,
                  Diagnostics& diagnostics);

/// A warning for each such parameter that no call of the graph takes.
void CheckSourcesUsed(const Module& module, const Graph& graph, Diagnostics& diagnostics);

}  // namespace etc
