#include "emit/builtin_headers.h"

#include <span>

#include "emit/builtin_texts.h"

namespace etc {

std::optional<std::string> BuiltinHeader(const std::string& name) {
  const std::string in_tile = "tile/" + name;
  for (const BuiltinText& entry : std::span(kBuiltinTexts, kBuiltinTextCount)) {
    if (entry.name == name || entry.name == in_tile) {
      return std::string(entry.text);
    }
  }
  return std::nullopt;
}

}  // namespace etc
