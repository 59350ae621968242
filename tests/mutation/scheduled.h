// Bases that are kernels: what the static pipeline makes of a graph.
#pragma once

#include <cstdint>

#include "examples.h"
#include "ir/node.h"

namespace etc::mutation {

/// Turns the base into a kernel of the schedule; a base that is none stays.
void Schedule(Base& base, ScheduleKind kind);

/// Turns it into a static kernel whose shares all begin at one place, so that some of its events
/// are inside of an SM.
void ScheduleAtOnePlace(Base& base);

/// Turns it into a kernel whose calls have schedules of their own: shares, drains and queues.
void ScheduleHybrid(Base& base, uint64_t seed);

}  // namespace etc::mutation
