// Reads the kernels of a manifest's graph.
#pragma once

#include "runtime/json_object.h"
#include "runtime/manifest.h"

namespace etc::runtime {

/// Adds one to the graph, whose dims are known.
Status ReadKernel(const JsonValue& value, manifest::Graph* graph);

}  // namespace etc::runtime
