#include "emit/raise/header_text.h"

#include <fmt/format.h>

#include <string_view>

namespace etc {

bool HeaderText::Append(const std::string& name, SourceRange range, std::string& out) {
  if (skipped_.contains(name)) {
    return true;
  }
  std::optional<std::string> text = reader_(name);
  if (!text) {
    diagnostics_.Error(
        DiagnosticKind::Impl, range,
        fmt::format("header `{}` is neither in the include path nor built in", name));
    return false;
  }
  if (!done_.insert(*text).second) {
    return true;
  }
  std::string_view rest = *text;
  while (!rest.empty()) {
    size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    constexpr std::string_view kInclude = "#include \"";
    if (line.starts_with(kInclude)) {
      std::string_view inner = line.substr(kInclude.size());
      inner = inner.substr(0, inner.find('"'));
      if (!Append(std::string(inner), range, out)) {
        return false;
      }
    } else if (!line.starts_with("#pragma once")) {
      out.append(line);
      out += '\n';
    }
  }
  return true;
}

}  // namespace etc
