#include "support/assignments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace etc {

std::optional<Assignments> ParseAssignments(const std::vector<std::string>& texts,
                                            const std::string& option, Diagnostics& diagnostics) {
  Assignments assignments;
  bool ok = true;
  for (const std::string& text : texts) {
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      diagnostics.Error(DiagnosticKind::CommandLine, {},
                        fmt::format("`{} {}` is not of the form `name=value`", option, text));
      ok = false;
      continue;
    }
    std::string name = text.substr(text[0] == '%' ? 1 : 0, equals - (text[0] == '%' ? 1 : 0));
    if (!assignments.emplace(name, text.substr(equals + 1)).second) {
      diagnostics.Error(DiagnosticKind::CommandLine, {},
                        fmt::format("`{}` is given for `{}` more than once", option, name));
      ok = false;
    }
  }
  return ok ? std::optional(assignments) : std::nullopt;
}

std::optional<std::map<std::string, int64_t>> ParseIntAssignments(
    const std::vector<std::string>& texts, const std::string& option, Diagnostics& diagnostics) {
  auto assignments = ParseAssignments(texts, option, diagnostics);
  if (!assignments) {
    return std::nullopt;
  }
  std::map<std::string, int64_t> values;
  for (const auto& [name, text] : *assignments) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), values[name]);
    if (error != std::errc() || end != text.data() + text.size()) {
      bool large = error == std::errc::result_out_of_range && end == text.data() + text.size();
      diagnostics.Error(DiagnosticKind::CommandLine, {},
                        fmt::format("`{} {}={}` does not give an integer{}", option, name, text,
                                    large ? " of 64 bits" : ""));
      return std::nullopt;
    }
  }
  return values;
}

bool CheckName(const std::string& name, const std::string& option, const std::string& what,
               const std::vector<std::string>& known, Diagnostics& diagnostics) {
  if (std::find(known.begin(), known.end(), name) != known.end()) {
    return true;
  }
  diagnostics.Error(
      DiagnosticKind::CommandLine, {},
      fmt::format("`{} {}`: there is no {} of that name; there {}", option, name, what,
                  known.empty() ? "is none"
                                : fmt::format("{} `{}`", known.size() == 1 ? "is" : "are",
                                              fmt::join(known, "`, `"))));
  return false;
}

}  // namespace etc
