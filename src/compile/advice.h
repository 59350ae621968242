// Who decides what the text of a program leaves open: a tuning file, then the library's own, then
// the simulator.
#pragma once

#include <optional>

#include "compile/options.h"
#include "expand/decisions.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// What is built into etc of measurements on a target; nothing that can be called where nothing is.
[[nodiscard]] std::optional<Advise> LibraryAdvice(const Target& target, Diagnostics& diagnostics);

/// What the options ask for, for a module in front of expansion whose constants are set. Reports a
/// tuning file that cannot be read.
[[nodiscard]] std::optional<Advise> Adviser(const Module& module, const SourceOptions& options,
                                            Diagnostics& diagnostics);

}  // namespace etc
