// The iterations that a wait may be for.
#pragma once

#include <vector>

#include "schedule/range_dependences.h"

namespace etc {

/// The iterations of a dependence that one wait may connect, one choice after the other: those for
/// the fewest iterations come first, and all iterations last. `program`: the graph at one of its
/// ranges.
std::vector<Iterations> IterationChoices(const CallProgram& program, RangeDependences& dependences,
                                         const Dependence& dependence);

}  // namespace etc
