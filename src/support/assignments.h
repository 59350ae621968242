// `name=value` arguments, as `--dim`, `--input` and `--output` take them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/diagnostics.h"

namespace etc {

using Assignments = std::map<std::string, std::string>;

/// Splits at the first `=`. Reports malformed and repeated ones as [command-line]; `option` names
/// them in messages.
[[nodiscard]] std::optional<Assignments> ParseAssignments(const std::vector<std::string>& texts,
                                                          const std::string& option,
                                                          Diagnostics& diagnostics);

/// The same with integers as values.
[[nodiscard]] std::optional<std::map<std::string, int64_t>> ParseIntAssignments(
    const std::vector<std::string>& texts, const std::string& option, Diagnostics& diagnostics);

/// Reports each name that is not among `known`; `what` says what the names are of.
template <class T>
bool CheckNames(const std::map<std::string, T>& assignments, const std::string& option,
                const std::string& what, const std::vector<std::string>& known,
                Diagnostics& diagnostics) {
  bool ok = true;
  for (const auto& [name, value] : assignments) {
    ok &= CheckName(name, option, what, known, diagnostics);
  }
  return ok;
}

bool CheckName(const std::string& name, const std::string& option, const std::string& what,
               const std::vector<std::string>& known, Diagnostics& diagnostics);

}  // namespace etc
