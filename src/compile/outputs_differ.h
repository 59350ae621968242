// The files that a command writes, held against those that it reads.
#pragma once

#include <string>
#include <vector>

#include "support/diagnostics.h"

namespace etc {

/// Whether no output would take the place of another or of an input: `--config model.json -o
/// model.cubin` would put the manifest over the configuration. An empty name stands for no file;
/// `-` and a device are not replaced.
[[nodiscard]] bool CheckOutputsDiffer(const std::vector<std::string>& outputs,
                                      const std::vector<std::string>& inputs,
                                      Diagnostics& diagnostics);

}  // namespace etc
