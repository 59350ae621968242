// From the manifest's JSON to its types.
#pragma once

#include <string>

#include "etc/manifest.h"
#include "runtime/status.h"

namespace etc::runtime {

/// Keys that are not known are passed over, so that a manifest may say more than this library
/// reads. An error names the place, for example `graphs[0].params[2].dtype`.
Status ReadManifest(const std::string& text, manifest::Manifest* manifest);

}  // namespace etc::runtime
