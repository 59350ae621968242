// The sizes that the launches of a graph depend on.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"

namespace etc {

/// The dimensions of a graph's launch block, in the order in which they are declared: those that
/// some kernel of the graph depends on, and those to which a requirement relates these.
std::vector<SymbolId> GraphDims(const Module& module, const std::string& graph);

}  // namespace etc
