// What must stand in the IR before it can be emitted.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"
#include "target/arch.h"

namespace etc {

/// Reports what emission would have to decide by itself: a buffer without a place, an event without
/// a realisation, a graph that is not scheduled; and what `arch` cannot do, a module without a
/// kernel, or kernels that one artifact cannot hold.
[[nodiscard]] bool CanEmit(const Module& module, Arch arch, Diagnostics& diagnostics);

}  // namespace etc
