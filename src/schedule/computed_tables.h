// Tables that the launch computes, and that say which elements of events are notified and waited
// for: they are read behind a wait for whoever fills them.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "analysis/derivation/data_needs.h"

namespace etc {

/// The tensors that the needs are read from and no caller gives.
std::set<TensorId> ComputedTablesIn(const Module& module, const Needs& needs);
/// The same of what tasks are told apart by.
std::set<TensorId> ComputedTablesIn(const Module& module,
                                    const std::vector<std::optional<TaskKey>>& keys);

/// The call that fills a table which is written once, before call number `reader`: in the same
/// iteration of the repeats around it. Null where there is none, or data decide how many tasks it
/// has.
const ProgramCall* WriterOfTable(const Module& module, const CallProgram& program, TensorId table,
                                 size_t reader);

}  // namespace etc
