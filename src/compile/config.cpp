#include "compile/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "compile/json_problem.h"

namespace etc {
namespace {

using Json = nlohmann::json;

/// Far deeper than any configuration; a name has the names of all objects around it.
constexpr int kMaxNesting = 64;

/// Those of a list of nothing but strings.
std::vector<std::string> TextsOf(const Json& list) {
  const bool are_texts =
      std::all_of(list.begin(), list.end(), [](const Json& one) { return one.is_string(); });
  return are_texts ? list.get<std::vector<std::string>>() : std::vector<std::string>();
}

/// False if objects are nested deeper than `depth`.
bool Flatten(const Json& object, const std::string& prefix, const std::string& origin, int depth,
             Config& config) {
  if (depth == 0) {
    return false;
  }
  for (const auto& [key, value] : object.items()) {
    std::string name = prefix + key;
    switch (value.type()) {
      case Json::value_t::object:
        if (!Flatten(value, name + "_", origin, depth - 1, config)) {
          return false;
        }
        break;
      case Json::value_t::number_unsigned:
        if (value.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max())) {
          config.unusable.push_back({name, "an integer beyond 64 bits"});
          break;
        }
        [[fallthrough]];
      case Json::value_t::number_integer:
        config.overrides.push_back({name, value.get<int64_t>(), origin, false});
        break;
      case Json::value_t::number_float:
        config.overrides.push_back({name, value.get<double>(), origin, false});
        break;
      case Json::value_t::boolean:
        config.overrides.push_back({name, value.get<bool>(), origin, false});
        break;
      case Json::value_t::string:
        config.unusable.push_back(
            {name, "a string", {value.get<std::string>()}, value.dump(-1, ' ', true)});
        break;
      case Json::value_t::array:
        config.unusable.push_back({name, "a list", TextsOf(value), value.dump(-1, ' ', true)});
        break;
      default:
        break;
    }
  }
  return true;
}

bool IsName(std::string_view text) {
  auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (text.empty() || !is_letter(text[0])) {
    return false;
  }
  for (char c : text) {
    if (!is_letter(c) && !(c >= '0' && c <= '9')) {
      return false;
    }
  }
  return true;
}

template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::optional<Override> ParseDefine(std::string_view text, Diagnostics& diagnostics) {
  size_t equals = text.find('=');
  std::string_view name = text.substr(0, equals);
  if (equals == std::string_view::npos || !IsName(name)) {
    diagnostics.Error(DiagnosticKind::CommandLine, {},
                      fmt::format("`-D {}` is not of the form `name=value`", text));
    return std::nullopt;
  }
  std::string_view value = text.substr(equals + 1);
  Override result{std::string(name), false, "-D", true};
  if (value == "true" || value == "false") {
    result.value = value == "true";
  } else if (auto integer = ParseNumber<int64_t>(value)) {
    result.value = *integer;
  } else if (auto real = ParseNumber<double>(value); real && !std::isnan(*real)) {
    result.value = *real;
  } else {
    diagnostics.Error(
        DiagnosticKind::CommandLine, {},
        fmt::format("the value of `-D {}` is not an integer, a float, `true` or `false`", text));
    return std::nullopt;
  }
  return result;
}

std::optional<Config> ParseConfig(std::string_view text, const std::string& origin,
                                  Diagnostics& diagnostics) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    diagnostics.Error(DiagnosticKind::Config, {},
                      fmt::format("`{}` {}", origin, JsonProblem(text)));
    return std::nullopt;
  }
  if (!json.is_object()) {
    diagnostics.Error(
        DiagnosticKind::Config, {},
        fmt::format("`{}` holds {}; expected an object of names and values", origin,
                    json.is_array() ? "a list" : fmt::format("a {}", json.type_name())));
    return std::nullopt;
  }
  if (std::string key = KeyGivenTwice(text); !key.empty()) {
    diagnostics.Error(DiagnosticKind::Config, {},
                      fmt::format("`{}` has `{}` twice in one object", origin, key));
    return std::nullopt;
  }
  Config config;
  if (!Flatten(json, "", origin, kMaxNesting, config)) {
    diagnostics.Error(DiagnosticKind::Config, {},
                      fmt::format("`{}` is nested more than {} levels deep", origin, kMaxNesting));
    return std::nullopt;
  }
  return config;
}

}  // namespace etc
