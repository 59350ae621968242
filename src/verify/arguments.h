// What a call or a share passes to its device function.
#pragma once

#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"
#include "support/diagnostics.h"
#include "verify/expr_checker.h"

namespace etc {

/// The values of the variables of the repeats around a node in the first and the last iteration.
struct Iterations {
  Env first;
  Env last;
};

/// The argument, which `call` makes, has the type, the sizes and the layout of the parameter of
/// `callee` at all sizes in `ranges`; a slice has the indices for that, and they are inside of the
/// tensor.
void CheckArgument(const Module& module, SourceRange call, const Device& callee,
                   const Argument& arg, const Tensor& param, const Iterations& around,
                   const DimRanges& ranges, ExprChecker& exprs, Diagnostics& diagnostics);

/// No two arguments that `callee` writes are the same elements of a tensor: bodies and
/// implementations take what they write through different parameters to be different.
void CheckWrittenApart(const Module& module, SourceRange call, const Device& callee,
                       const std::vector<Argument>& args, const DimRanges& ranges,
                       Diagnostics& diagnostics);

}  // namespace etc
