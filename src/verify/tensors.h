// Checks of declarations that devices, graphs and kernels share.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"
#include "verify/expr_checker.h"

namespace etc {

/// Extents are integers of constants and dimensions, and not negative at any size; a promised value
/// range is one of integers, on a tensor of integers; a tile divides the last two extents.
void CheckTensor(const Module& module, const Tensor& tensor, ExprChecker& exprs,
                 Diagnostics& diagnostics);

/// A value range is one of integers, on a tensor of integers; so are `distinct` and `monotone`.
void CheckPreconditions(const Module& module, const Tensor& tensor, ExprChecker& exprs,
                        Diagnostics& diagnostics);

}  // namespace etc
