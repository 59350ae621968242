// The order between two tasks at given sizes.
#pragma once

#include "analysis/proofs/prover.h"

namespace etc {

/// Whether chains of events lead from task 1 of `x` to task 2 of `y`, which the point names with
/// the sizes; true as well where that takes too long to say. Unlike `HappensBefore`, which is for
/// all sizes and tasks, it knows every chain.
bool MayBeInOrder(const Unknowns& unknowns, const HappensBefore& order, const ProgramCall& x,
                  const ProgramCall& y, const Point& point);

}  // namespace etc
