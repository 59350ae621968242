// What must stand in the IR before it can be emitted.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// Reports what emission would have to decide by itself: a buffer without a place, an event without
/// a realisation, a graph that is not scheduled; and a module without a kernel.
[[nodiscard]] bool CanEmit(const Module& module, Diagnostics& diagnostics);

}  // namespace etc
