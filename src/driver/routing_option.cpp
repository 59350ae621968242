#include "driver/routing_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>
#include <variant>

#include "support/files.h"

namespace etc {
namespace {

/// The integers of a line, separated by blanks or commas; or the number of the word that is none.
std::variant<std::vector<int64_t>, size_t> ReadLine(std::string line) {
  std::replace(line.begin(), line.end(), ',', ' ');
  std::istringstream words(line);
  std::vector<int64_t> choices;
  for (std::string word; words >> word;) {
    const char* end = word.data() + word.size();
    auto [stop, error] = std::from_chars(word.data(), end, choices.emplace_back());
    if (error != std::errc() || stop != end) {
      return choices.size();
    }
  }
  return choices;
}

/// A line for each layer.
std::optional<Routing> ReadChoices(const std::string& path, Diagnostics& diagnostics) {
  std::optional<std::string> text = ReadInput(path, diagnostics);
  if (!text) {
    return std::nullopt;
  }
  Routing routing;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    auto read = ReadLine(std::move(line));
    if (const size_t* word = std::get_if<size_t>(&read)) {
      diagnostics.Error(DiagnosticKind::Data, {},
                        fmt::format("`{}`: number {} of line {} is no integer of 64 bits",
                                    DisplayName(path), *word, routing.choices.size() + 1));
      return std::nullopt;
    }
    routing.choices.push_back(std::move(std::get<std::vector<int64_t>>(read)));
  }
  if (routing.choices.empty()) {
    diagnostics.Error(DiagnosticKind::Data, {},
                      fmt::format("`{}` has no choices", DisplayName(path)));
    return std::nullopt;
  }
  return routing;
}

}  // namespace

std::optional<Routing> ParseRouting(const std::string& text, Diagnostics& diagnostics) {
  constexpr std::string_view kZipf = "zipf:";
  if (text == "uniform") {
    return Routing{};
  }
  if (!text.starts_with(kZipf)) {
    return ReadChoices(text, diagnostics);
  }
  Routing routing;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data() + kZipf.size(), end, routing.exponent);
  if (error != std::errc() || stop != end || !(routing.exponent >= 0 && routing.exponent <= 10)) {
    diagnostics.Error(DiagnosticKind::CommandLine, {},
                      fmt::format("`--routing {}`: the exponent is no number from 0 to 10", text));
    return std::nullopt;
  }
  return routing;
}

}  // namespace etc
