// What generated code puts into the shared memory of a CTA.
#pragma once

#include "emit/raise/raised.h"
#include "support/diagnostics.h"

namespace etc {

/// Reports what the shared memory of a kernel's CTAs has no room for: the locals of a generated
/// body, or the barriers that each CTA has. What implementations need their own code says.
[[nodiscard]] bool SharedMemoryFits(const RaisedModule& raised, Diagnostics& diagnostics);

}  // namespace etc
