// Reads the graphs of a manifest.
#pragma once

#include "runtime/json_object.h"
#include "runtime/manifest.h"

namespace etc::runtime {

/// Adds one to the manifest.
Status ReadGraph(const JsonValue& value, manifest::Manifest* manifest);

}  // namespace etc::runtime
