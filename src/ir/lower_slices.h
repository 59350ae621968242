// Slices with a free axis in front of an index: `%w[*, l]`.
#pragma once

#include "ir/module.h"

namespace etc {

/// Replaces each of them: the call gets a copy of the device function that takes the whole tensor,
/// and the index as a scalar. All passes and proofs come behind it: they know slices at leading
/// indices only.
void LowerSlices(Module& module);

}  // namespace etc
