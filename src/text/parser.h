// From source text to a module.
#pragma once

#include <memory>

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// Parses `source` and resolves names. Reports every error it can find in one run (it
/// resynchronises at `;` and `}`); the module is null when there was one. Checks nothing beyond
/// syntax and names.
[[nodiscard]] std::unique_ptr<Module> Parse(const SourceFile& source, Diagnostics& diagnostics);

}  // namespace etc
