// The number of ranks where it is one.
#pragma once

#include "ir/module.h"

namespace etc {

/// Where the mesh has one number of ranks, puts that in the place of its name. A mesh of one rank
/// is none: all that is said of ranks goes, and what is left is a program without a mesh. A module
/// with kernels stays as it is.
void SettleRanks(Module& module);

}  // namespace etc
