// Makes expressions of affine functions and sets over one task.
#pragma once

#include <optional>

#include "analysis/derivation/task_expr.h"
#include "analysis/sets/unknowns.h"

namespace etc {

/// The value of a function of the sizes, of the task of an instance and of elements that the task
/// finds, where `context` holds. Nothing where it depends on other data.
std::optional<TaskExpr> ClosedForm(const Unknowns& unknowns, const PwAff& value, const Set& context,
                                   int instance = 2);
/// The condition of a task of instance 2 to be in the set, where `context` holds.
std::optional<TaskExpr> ClosedForm(const Unknowns& unknowns, const Set& set, const Set& context);

}  // namespace etc
