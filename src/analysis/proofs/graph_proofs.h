// What the derivation of events hands on to the proof of the graphs, and that to the proof of the
// kernels that are made of them.
#pragma once

#include <memory>

#include "ir/module.h"

namespace etc {

class DerivedBodies;
class GraphProofs;

/// Still empty: `derive-events` fills it in.
std::shared_ptr<DerivedBodies> MakeDerivedBodies();
/// Still empty: `ProveGraphs` fills it in for the graphs of this module. `derived`: of this very
/// module, or null.
std::shared_ptr<GraphProofs> MakeGraphProofs(std::shared_ptr<const Module> module,
                                             std::shared_ptr<DerivedBodies> derived = nullptr);

}  // namespace etc
