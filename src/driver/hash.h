// The hash by which a manifest knows its binary.
#pragma once

#include <string>
#include <string_view>

namespace etc {

/// XXH3-128 of the bytes, as 32 hexadecimal digits in canonical order.
[[nodiscard]] std::string HashText(std::string_view bytes);

}  // namespace etc
