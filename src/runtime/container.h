// An artifact in one file, or in memory: the manifest and the binary behind a header.
// docs/runtime.md has the layout. One hash covers all of it.
#pragma once

#include <string>
#include <string_view>

#include "runtime/status.h"

namespace etc::runtime {

inline constexpr std::string_view kContainerExtension = ".etca";

/// Whether the bytes begin like a container, of whatever version.
bool IsContainer(std::string_view bytes);

std::string WriteContainer(std::string_view manifest, std::string_view binary);

/// The parts of a container, in its own bytes.
struct ContainerParts {
  std::string_view manifest;
  std::string_view binary;
};

/// Checks the header, the sizes and the hash; the text of a failure completes "artifact `x` ...".
Status ReadContainer(std::string_view bytes, ContainerParts* parts);

}  // namespace etc::runtime
