#include "emit/builtin_headers.h"

#include <span>
#include <string_view>

#include "emit/builtin_texts.h"

namespace etc {

namespace {

/// Whether the path is `tile/FOLDER/NAME`.
bool IsTileKernel(std::string_view path, std::string_view name) {
  return path.starts_with("tile/") && path.substr(path.rfind('/') + 1) == name;
}

}  // namespace

std::optional<std::string> BuiltinHeader(const std::string& name) {
  for (const BuiltinText& entry : std::span(kBuiltinTexts, kBuiltinTextCount)) {
    if (entry.name == name || IsTileKernel(entry.name, name)) {
      return std::string(entry.text);
    }
  }
  return std::nullopt;
}

bool IsBuiltinOperator(const std::string& name) {
  for (const BuiltinText& entry : std::span(kBuiltinTexts, kBuiltinTextCount)) {
    const std::string_view text = entry.text;
    if (text.find("\ndevice @" + name + "<") != text.npos ||
        text.find("\ngraph @" + name + "<") != text.npos) {
      return true;
    }
  }
  return false;
}

}  // namespace etc
