// Which events stay inside of an SM.
#pragma once

#include "ir/module.h"

namespace etc {

/// Gives each event of the kernel that has no realisation the cheapest that is proved to be right:
/// `via none`, `via shared` while there is room for its counters, else `via counter`.
void ChooseVia(Module& module, KernelId kernel);

}  // namespace etc
