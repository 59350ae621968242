#include "toolchain/ptxas_log.h"

#include <fmt/format.h>

#include <cctype>

namespace etc {

std::optional<std::string> FindSerialisedWgmma(std::string_view log) {
  constexpr std::string_view kPrefix = "C75";
  const auto is_digit = [&](size_t at) {
    return at < log.size() && std::isdigit(static_cast<unsigned char>(log[at])) != 0;
  };
  const auto is_word = [&](size_t at) {
    return at < log.size() && std::isalnum(static_cast<unsigned char>(log[at])) != 0;
  };
  for (size_t at = log.find(kPrefix); at != std::string_view::npos;
       at = log.find(kPrefix, at + 1)) {
    const bool starts_word = at == 0 || (!is_word(at - 1) && log[at - 1] != '_');
    if (starts_word && is_digit(at + 3) && is_digit(at + 4) && !is_word(at + 5)) {
      return std::string(log.substr(at, 5));
    }
  }
  return std::nullopt;
}

std::string SerialisedWgmmaMessage(const std::string& number) {
  return fmt::format(
      "etc: ptxas reports {}: it orders or serialises the wgmma instructions of a kernel on its "
      "own, "
      "which costs them most of their speed\n",
      number);
}

}  // namespace etc
