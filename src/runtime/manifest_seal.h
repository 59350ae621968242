// The hash that a manifest carries over its own text. It tells a manifest that was changed or cut
// from one that the compiler wrote, and says nothing of who wrote it.
#pragma once

#include <string>
#include <string_view>

#include "runtime/status.h"

namespace etc::runtime {

/// The last key of a manifest: the hash of all bytes in front of its value's digits.
inline constexpr std::string_view kSealKey = "xxh3_128";

/// `text` is an object of JSON that has a member; gives it with the seal as its last one.
std::string SealManifest(std::string text);

/// The digits, once they are found to be those of the text.
Status CheckSeal(std::string_view text, std::string* hash);

}  // namespace etc::runtime
