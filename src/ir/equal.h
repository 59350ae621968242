// Whether a module still says what it said before.
#pragma once

#include "ir/module.h"

namespace etc {

/// Whether all that `before` says outside of graphs and kernels, `after` says in the same words.
/// `after` is `before` and what was changed and added since: ids mean the same in both.
[[nodiscard]] bool AreDevicesEqual(const Module& before, const Module& after);

/// The same of graphs and kernels.
[[nodiscard]] bool AreProgramsEqual(const Module& before, const Module& after);

}  // namespace etc
