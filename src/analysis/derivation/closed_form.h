// From affine functions and sets over one task to expressions.
#pragma once

#include <optional>

#include "analysis/derivation/task_expr.h"
#include "analysis/sets/unknowns.h"

namespace etc {

/// The value of a function of the sizes and of the task of instance 2, where `context` holds.
/// Nothing where it depends on data.
std::optional<TaskExpr> ClosedForm(const Unknowns& unknowns, const PwAff& value,
                                   const Set& context);
/// The condition of a task of instance 2 to be in the set, where `context` holds.
std::optional<TaskExpr> ClosedForm(const Unknowns& unknowns, const Set& set, const Set& context);

}  // namespace etc
