// Says why a wait comes too early.
#pragma once

#include "analysis/program.h"
#include "analysis/samples.h"
#include "support/diagnostics.h"

namespace etc {

/// A wait for an element that is complete only after the waiting step: `position` counts the steps
/// run before it, repeats unrolled.
struct EarlyWait {
  const TaskEdge* ref;
  size_t event;
  int64_t element;
  size_t position;
};

/// Reports `event-cycle`, with a note for each wait of the cycle, when what notifies the element
/// waits in turn for the step; else `event-order`.
void ReportOrder(const Module& module, const CallProgram& program, const Sizes& sizes,
                 const EarlyWait& wait, Diagnostics& diagnostics);

}  // namespace etc
