// What a manifest may use beyond dense tensors and persistent kernels for all sizes. It lists by
// name what it uses, so that a library that does not know one of them refuses it.
#pragma once

#include "runtime/manifest.h"
#include "runtime/status.h"

namespace etc::runtime {

/// That this library knows each feature that the manifest lists, before the rest of it is read.
Status CheckFeaturesKnown(const std::vector<std::string>& features);

/// That the manifest lists each feature that it uses.
Status CheckFeaturesListed(const manifest::Manifest& manifest);

}  // namespace etc::runtime
