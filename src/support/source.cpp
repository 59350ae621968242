#include "support/source.h"

#include <algorithm>
#include <utility>

namespace etc {

SourceFile::SourceFile(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (uint32_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') {
      line_starts_.push_back(i + 1);
    }
  }
}

LineColumn SourceFile::Locate(uint32_t offset) const {
  auto it = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  auto line = static_cast<uint32_t>(it - line_starts_.begin());
  return {line, offset - line_starts_[line - 1] + 1};
}

std::string_view SourceFile::Line(uint32_t line) const {
  if (line == 0 || line > line_starts_.size()) {
    return {};
  }
  uint32_t begin = line_starts_[line - 1];
  size_t end = text_.find('\n', begin);
  std::string_view view(text_);
  view = view.substr(begin, end == std::string::npos ? end : end - begin);
  if (!view.empty() && view.back() == '\r') {
    view.remove_suffix(1);
  }
  return view;
}

}  // namespace etc
