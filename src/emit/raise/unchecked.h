// What debug checks leave out.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"
#include "target/arch.h"

namespace etc {

/// Warns of what a device function asks of a tensor that the program computes, where a kernel with
/// checks has none for it: `distinct` and `monotone`, and values that an implementation reads.
void WarnOfUnchecked(const Module& module, Arch arch, Diagnostics& diagnostics);

}  // namespace etc
