// How many tasks a share has at most, whatever data say that keep their preconditions.
#pragma once

#include <optional>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// The number of tasks of a box; else an expression over sizes that it does not exceed, by what is
/// asked of the tensors that ranges are read from. Ranges between neighbours of a monotone tensor,
/// `%b[e] .. %b[e + 1]`, have no more tasks together than the tensor has values. Nothing where no
/// such expression is found.
std::optional<ExprId> MostTasksOf(Module& module, const Share& share, const DimRanges& ranges);

}  // namespace etc
