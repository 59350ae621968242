// Numbers of eight bytes in files, the lowest byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace etc::runtime {

/// The number that begins at byte `at`; the bytes are there.
inline uint64_t NumberAt(std::string_view bytes, size_t at) {
  uint64_t number = 0;
  for (size_t i = sizeof(number); i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

}  // namespace etc::runtime
