// How many reductions of a body come one after the other.
#pragma once

#include <cstdint>

#include "ir/module.h"

namespace etc {

/// The longest chain of reductions of which each needs the result of the one before: 1 for a
/// product, 4 for a softmax of products that are summed up. Each costs a task a round of all its
/// threads, however few elements it has.
int64_t ReductionDepth(const Module& module, const Device& device);

}  // namespace etc
