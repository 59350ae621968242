// Phased buffers: words that say in which turn of several they were written.
#pragma once

#include "ir/module.h"

namespace etc {

/// Whether an implementation can take the parameter as a phased buffer.
bool TakesPhased(const Device& device, TensorId param);

/// The reference by which the share notifies an event `via words`, or with `In` waits for one: its
/// first index is the turn of the words. Null where there is none.
const EventRef* TurnOf(const Module& module, const Share& share, Access access);

}  // namespace etc
