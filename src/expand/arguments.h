// Whether the arguments of a call of a graph fit its parameters.
#pragma once

#include "expand/deduce.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// Whether the arguments, of which there are as many, have the types and shapes that the parameters
/// of a called graph declare. Reports as [argument] each that has not. The verifier checks the
/// calls of device functions.
[[nodiscard]] bool ArgumentsFit(Module& module, const Callee& callee, const CallNode& call,
                                const Deduced& deduced, Diagnostics& diagnostics);

}  // namespace etc
