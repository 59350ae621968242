// The dimensions that a program's tasks, tensors and events depend on.
#pragma once

#include <set>

#include "analysis/program.h"

namespace etc {

/// Those that some expression of the program names, and those that a requirement ties to one of
/// them. None where the program is looked at at fixed sizes, as they are numbers there.
std::set<SymbolId> UsedDims(const Module& module, const CallProgram& program);

}  // namespace etc
