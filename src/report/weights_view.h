// What a checkpoint has of the parameters of a graph.
#pragma once

#include <string>

#include "runtime/manifest.h"
#include "runtime/weights/checkpoint.h"
#include "support/diagnostics.h"

namespace etc {

/// Opens a file or a folder of the safetensors format; reports one that cannot be read.
[[nodiscard]] bool OpenCheckpoint(const std::string& path, runtime::Checkpoint& checkpoint,
                                  Diagnostics& diagnostics);

/// Lines for each parameter that names tensors: how many there are, what they become, and what is
/// wrong; then the tensors that no parameter names. Reports a graph that cannot be loaded.
[[nodiscard]] std::string WeightsText(const manifest::Graph& graph,
                                      const runtime::Checkpoint& checkpoint,
                                      const std::string& prefix, Diagnostics& diagnostics);

}  // namespace etc
