// How many tasks a range of them has: the points of its axes. Axes may depend on earlier ones.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"
#include "ir/rewrite.h"

namespace etc {

/// Whether no axis depends on another or is read from a tensor: the tasks are a box.
bool IsBox(const Module& module, const std::vector<Axis>& axes);

/// How many axes are loops around a box, from the first on: the ranges of others depend on them.
size_t OuterAxes(const Module& module, const std::vector<Axis>& axes);

/// The number of tasks as an expression: a product of extents; where an axis depends on another or
/// is read from a tensor, a sum. `tensors`: what the tensors that are read are in the expression.
ExprId TaskCount(Module& module, const std::vector<Axis>& axes,
                 const TensorSubstitution& tensors = {});
/// The number as a sum of ones over copies of the axes, in which symbols are replaced, too.
ExprId SumOfTasks(Module& module, const std::vector<Axis>& axes, Substitution symbols,
                  const TensorSubstitution& tensors);

/// The number at given sizes, as far as `most`; nothing where data decide.
std::optional<int64_t> TaskCountAt(const Module& module, const std::vector<Axis>& axes, Env sizes,
                                   const DimRanges& ranges, int64_t most);

/// The largest number, by the bounds of expressions; nothing where it is not known or too large.
std::optional<int64_t> MostTasks(const std::vector<Axis>& axes,
                                 const std::function<std::optional<Interval>(ExprId)>& bounds);

}  // namespace etc
