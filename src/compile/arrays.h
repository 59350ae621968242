// Which parameters are arrays of tensors, where the command line says so.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "support/diagnostics.h"

namespace etc {

/// Makes arrays of the parameters of these names, of all graphs and kernels that launches bind.
/// Reports a name that none has.
[[nodiscard]] bool MakeArrays(Module& module, const std::vector<std::string>& names,
                              Diagnostics& diagnostics);

}  // namespace etc
