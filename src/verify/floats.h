// Whether the floats that a program is made of fit the width in which it computes with them.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// Reports literals and constants that a float of 32 bits does not hold and that no double meets.
/// `wanted` is the kind that the whole expression, which is well-formed, is used as.
void CheckFloats(const Module& module, ExprId id, ValueKind wanted, Diagnostics& diagnostics);

}  // namespace etc
