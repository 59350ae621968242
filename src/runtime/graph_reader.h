// Reads one graph of a manifest: its dims, parameters and kernels.
#pragma once

#include <string>

#include "etc/manifest.h"
#include "runtime/json_object.h"

namespace etc::runtime {

/// Adds the graph at `where` to those of the manifest.
Status ReadGraph(const nlohmann::json& value, const std::string& where,
                 manifest::Manifest* manifest);

}  // namespace etc::runtime
