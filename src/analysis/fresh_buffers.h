// Buffers of which no iteration reads what the one before it left.
#pragma once

#include <set>

#include "ir/module.h"

namespace etc {

/// The tensors of a kernel of which the first call that uses them writes, in each iteration of the
/// repeats around it, all that any call touches, and reads nothing that it has not written itself.
std::set<TensorId> BuffersStartedAfresh(const Module& module, const Kernel& kernel);

}  // namespace etc
