// What the schedule of a program puts in order by itself, whatever its events are.
#pragma once

#include "analysis/program.h"

namespace etc {

/// Whether the schedule alone completes each task before any that stands behind it in program order
/// starts, if that is of another call or of another iteration. So it is in a list of launches,
/// which follow each other. The SMs of a persistent kernel wait for nothing but events, and the
/// order in which an SM takes its share of the tasks proves nothing about other SMs.
inline bool FollowsProgramOrder(const CallProgram& program) { return program.launches; }

}  // namespace etc
