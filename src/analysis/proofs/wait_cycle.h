// Calls that wait for each other, for the message of a wait that comes too early.
#pragma once

#include <vector>

#include "analysis/events.h"
#include "analysis/proofs/prover.h"

namespace etc {

/// A call waits for what another one, or itself, notifies.
struct WaitStep {
  const EdgeRelation* wait;
  const EdgeRelation* notify;
};

/// At the sizes of a point where `late` holds of some tasks: the steps from it back to the call
/// that waits, `late` first; empty where no such chain is found. Iterations of repeats are told
/// apart, tasks are not.
std::vector<WaitStep> FindWaitCycle(const Unknowns& unknowns, const EventRelations& relations,
                                    const WaitStep& late, const Map& late_pairs,
                                    const Point& point);

}  // namespace etc
