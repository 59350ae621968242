// Numbers as text, whatever the locale of the program is.
#pragma once

#include <charconv>
#include <string>

namespace etc::trace {

inline std::string Fixed(double value, int digits) {
  char text[400];  // the largest double has 309 digits in front of the point
  const auto [end, error] =
      std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits);
  return error == std::errc() ? std::string(text, end) : "0";
}

}  // namespace etc::trace
