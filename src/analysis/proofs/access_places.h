// Where a body accesses memory, for messages.
#pragma once

#include <vector>

#include "analysis/program.h"

namespace etc {

/// The places in the body of a call's device function that read or write the tensor of the program,
/// in the order of evaluation.
std::vector<SourceRange> AccessPlaces(const Module& module, const ProgramCall& call,
                                      TensorId tensor, bool write);

}  // namespace etc
