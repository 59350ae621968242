// Values for constants from outside the source: `-D name=value`, and a model's own config.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/override.h"
#include "support/diagnostics.h"

namespace etc {

/// The override that `-D text` asks for: `name=value` with an integer, a float, `true` or `false`.
/// Reports anything else as [command-line].
[[nodiscard]] std::optional<Override> ParseDefine(std::string_view text, Diagnostics& diagnostics);

/// A value of a configuration that no constant can take.
struct UnusableValue {
  std::string name;
  std::string what;                     // "a string", "a list", "an integer beyond 64 bits"
  std::vector<std::string> texts = {};  // of a string, or of a list of nothing but strings
  std::string json = {};                // a string or a list as JSON has it
};

/// What a configuration says: its members by name, those of nested objects as `outer_inner`.
/// `null` means that the source's own value stands.
struct Config {
  std::vector<Override> overrides;
  std::vector<UnusableValue> unusable;
};

/// Parses the text of a config.json; `origin` names it in messages. Reports [config] errors.
[[nodiscard]] std::optional<Config> ParseConfig(std::string_view text, const std::string& origin,
                                                Diagnostics& diagnostics);

}  // namespace etc
