// What the generic parameters of a callee are in a call.
#pragma once

#include <optional>

#include "expand/callee.h"
#include "expand/choosing.h"
#include "ir/module.h"
#include "ir/rewrite.h"
#include "support/diagnostics.h"

namespace etc {

/// The extents of a tensor or of its slice.
std::vector<ExprId> ShapeOf(const Module& module, const Argument& argument);

/// What a call makes of a callee.
struct Deduced {
  Substitution values;           // of all generic parameters
  std::vector<TensorId> params;  // those of the callee's that there are
};

/// The values of all generic parameters: those that the call says; else those that are an extent of
/// a parameter, from its argument; else those that have a value of their own. The first and the
/// last decide which parameters there are. A choice is decided by `choosing`. Reports as [argument]
/// what is said twice, not known or missing.
[[nodiscard]] std::optional<Deduced> Deduce(Module& module, const Callee& callee,
                                            const CallNode& call, SourceRange range,
                                            Choosing& choosing, Diagnostics& diagnostics);

}  // namespace etc
