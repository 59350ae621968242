// How a parameter is divided among the ranks of a mesh: `shard n in p`.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/module.h"

namespace etc {

/// Of a tensor with a `shard`: the extent of all parts together, as it is written.
ExprId WholeExtent(const Module& module, const Tensor& tensor);
/// Of a tensor with a `shard`: the number of parts, of which each has the tensor's extent. Rank `r`
/// of `ranks` has part `r * parts / ranks`.
ExprId PartsOf(const Module& module, const Tensor& tensor);
/// The same for so many ranks; nothing where it is not known then.
std::optional<int64_t> PartsAt(const Module& module, const Tensor& tensor, int64_t ranks);

}  // namespace etc
