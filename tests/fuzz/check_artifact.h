// What must hold for every text of a manifest and every artifact in one file, right or damaged.
#pragma once

#include <string>

namespace etc {

/// Reads the text as a manifest, as it is and with the hash that it would need, and, as the rest of
/// an artifact in one file does, with a binary; asks what the program has and plans a launch.
/// Returns an empty string, or what is wrong.
std::string CheckManifestText(const std::string& text);

/// Loads the bytes as an artifact in one file. Returns an empty string, or what is wrong.
std::string CheckContainer(const std::string& bytes);

}  // namespace etc
