// Dependency files in the syntax of make, as ninja and make read them.
#pragma once

#include <string>
#include <vector>

namespace etc {

/// `targets: inputs`, names escaped. `phony`: an empty rule for each input but the first, so that a
/// header that has gone does not break the build (`-MP`).
[[nodiscard]] std::string Depfile(const std::vector<std::string>& targets,
                                  const std::vector<std::string>& inputs, bool phony);

}  // namespace etc
