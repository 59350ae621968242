// What makes a queue well-formed; src/analysis/proofs shows that each of its tasks is pushed once.
#pragma once

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// Triggers stand in queues and events elsewhere, each trigger pushes one case, and what it pushes
/// are tasks that follow each other.
void CheckQueues(const Module& module, const Kernel& kernel, Diagnostics& diagnostics);

}  // namespace etc
