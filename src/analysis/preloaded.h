// Whether what a loader copies ahead of every wait may be written in the launch.
#pragma once

#include <set>
#include <vector>

#include "analysis/element_accesses.h"
#include "analysis/program.h"

namespace etc {

/// Whether a read and a write of one tensor are proved to be of different elements, whichever tasks
/// of the two calls they are of. Nothing in the launch writes the tensors `constant`.
///
/// The proof is by contradiction: from the assumption that a read and a write have the same indices
/// follow further equalities, until a variable of the read equals what it is below.
bool AreApart(const Module& module, const ProgramCall& reader, const ElementAccess& read,
              const ProgramCall& writer, const ElementAccess& write,
              const std::set<TensorId>& constant);

}  // namespace etc
