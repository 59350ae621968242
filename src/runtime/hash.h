// The hash by which manifests know their binaries, and artifacts themselves.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

namespace etc::runtime {

/// XXH3-128 of the parts, one behind the other, in canonical order of bytes.
using Hash = std::array<char, 16>;
Hash HashOf(std::initializer_list<std::string_view> parts);

/// The same as 32 hexadecimal digits.
std::string HexOf(const Hash& hash);
std::string HashText(std::string_view bytes);

/// Whether a text is such digits.
bool IsHash(std::string_view text);

}  // namespace etc::runtime
