// Ranks that stand in a circle: who waits for whom.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/derivation/task_expr.h"
#include "ir/module.h"

namespace etc {

/// How many ranks further on the circle of `ranks` the value is, of every rank: coordinate 0 of a
/// task is its rank. Nothing where it depends on more than that, or is no such distance.
std::optional<int64_t> ShiftOfRank(const TaskExpr& expr, int64_t ranks);

/// The rank that is so much further on the circle of `extent` ranks, which were `ranks` where that
/// was found out. More than half of a circle is so much less backwards.
ExprId MakeShiftedRank(Module& module, ExprId rank, int64_t shift, int64_t ranks, ExprId extent);

}  // namespace etc
