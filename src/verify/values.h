// The values of expressions in messages.
#pragma once

#include <optional>
#include <string>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// "3", "0.5", "true": the value of an expression at these sizes, or nothing.
std::optional<std::string> ValueText(const Module& module, ExprId id, const Env& sizes = {},
                                     const DimRanges& ranges = {});

/// "`a / b` divides by zero": the innermost operation without a value, of an expression that has
/// none at these sizes.
std::string WhyNoValue(const Module& module, ExprId id, const Env& sizes = {},
                       const DimRanges& ranges = {});

}  // namespace etc
