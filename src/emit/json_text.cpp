#include "emit/json_text.h"

#include <string_view>

namespace etc {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kWidth = 100;

void Print(const Json& json, size_t column, size_t indent, std::string& text) {
  std::string line = json.dump();
  if (!json.is_structured() || json.empty() || column + line.size() <= kWidth) {
    text += line;
    return;
  }
  const bool is_object = json.is_object();
  text += is_object ? '{' : '[';
  std::string_view before = "\n";
  for (const auto& [key, value] : json.items()) {
    std::string name = is_object ? Json(key).dump() + ": " : "";
    text += before;
    text += std::string(indent + 2, ' ') + name;
    Print(value, indent + 2 + name.size(), indent + 2, text);
    before = ",\n";
  }
  text += '\n' + std::string(indent, ' ') + (is_object ? '}' : ']');
}

}  // namespace

std::string JsonText(const Json& json) {
  std::string text;
  Print(json, 0, 0, text);
  return text + '\n';
}

}  // namespace etc
