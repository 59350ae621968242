// From the text of a manifest to its types.
#pragma once

#include <string_view>

#include "runtime/manifest.h"
#include "runtime/status.h"

namespace etc::runtime {

/// Also holds the text against its own hash. Errors name the place: `graphs[0].dims[1].min`.
Status ReadManifest(std::string_view text, manifest::Manifest* manifest);

}  // namespace etc::runtime
