// What one proof of graphs hands on to that of the kernels that are made of them.
#pragma once

#include <memory>

#include "ir/module.h"

namespace etc {

class GraphProofs;

/// Still empty: `ProveGraphs` fills it in for the graphs of this module.
std::shared_ptr<GraphProofs> MakeGraphProofs(std::shared_ptr<const Module> module);

}  // namespace etc
