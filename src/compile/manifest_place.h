// Whether a manifest may be written where it is to stand.
#pragma once

#include <string>

#include "support/diagnostics.h"

namespace etc {

/// A manifest of another binary that is still there would be lost, and with it the use of that
/// binary; so would a file that is no manifest at all. Reports either as [file].
[[nodiscard]] bool CheckManifestPlace(const std::string& manifest, const std::string& binary,
                                      Diagnostics& diagnostics);

}  // namespace etc
