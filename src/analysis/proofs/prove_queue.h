// What makes queues right beside the events of their tasks.
#pragma once

#include <set>

#include "analysis/proofs/prover.h"

namespace etc {

/// Proves of each queue of a kernel that every task that is pushed is pushed once, that there are
/// places for all of them, and that no task is given out ahead of one that it waits for.
/// `relations` are those of its events.
void ProveQueues(Prover& prover, const EventRelations& relations, const std::set<EventId>& trusted,
                 const Kernel& kernel);

}  // namespace etc
