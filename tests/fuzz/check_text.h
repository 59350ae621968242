// What must hold for every text, correct or not.
#pragma once

#include <string>

namespace etc {

/// Parses the text. The parser must neither crash nor accept what its own printed form contradicts.
/// Returns an empty string, or what is wrong.
std::string CheckText(const std::string& text);

}  // namespace etc
