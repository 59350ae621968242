// What keeps an expression from a value.
#pragma once

#include <string>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// "`a / b` divides by zero": the innermost operation without a value, of an expression that has
/// none at these sizes.
std::string WhyNoValue(const Module& module, ExprId id, const Env& sizes = {},
                       const DimRanges& ranges = {});

}  // namespace etc
