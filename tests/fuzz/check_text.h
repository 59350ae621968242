// What must hold for every text, correct or not.
#pragma once

#include <string>

namespace etc {

/// Parses the text, which may import `used.etir` and what is built into etc, and makes it flat. The
/// parser must neither crash nor accept what its own printed form contradicts, and a flat form must
/// be a program.
/// Returns an empty string, or what is wrong.
std::string CheckText(const std::string& text);

}  // namespace etc
