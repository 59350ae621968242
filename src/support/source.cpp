#include "support/source.h"

#include <algorithm>
#include <utility>

namespace etc {

SourceFile::SourceFile(std::string name, std::string text) {
  Add(std::move(name), std::move(text));
}

uint32_t SourceFile::Add(std::string name, std::string text) {
  // One byte lies between two texts, so that the end of one is not the beginning of the next.
  uint32_t begin = parts_.empty() ? 0 : end() + 1;
  std::vector<uint32_t> line_starts{0};
  for (uint32_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      line_starts.push_back(i + 1);
    }
  }
  parts_.push_back({std::move(name), std::move(text), begin, std::move(line_starts)});
  return begin;
}

uint32_t SourceFile::end() const {
  return parts_.back().begin + static_cast<uint32_t>(parts_.back().text.size());
}

const SourceFile::Part& SourceFile::PartAt(uint32_t offset) const {
  auto behind = std::upper_bound(parts_.begin(), parts_.end(), offset,
                                 [](uint32_t at, const Part& part) { return at < part.begin; });
  return *std::prev(behind);
}

std::string_view SourceFile::Text(SourceRange range) const {
  const Part& part = PartAt(range.begin);
  return std::string_view(part.text).substr(range.begin - part.begin, range.end - range.begin);
}

LineColumn SourceFile::Locate(uint32_t offset) const {
  const Part& part = PartAt(offset);
  uint32_t at = offset - part.begin;
  auto it = std::upper_bound(part.line_starts.begin(), part.line_starts.end(), at);
  auto line = static_cast<uint32_t>(it - part.line_starts.begin());
  return {line, at - part.line_starts[line - 1] + 1};
}

std::string_view SourceFile::LineAt(uint32_t offset) const {
  std::string_view text = TextAt(offset);
  uint32_t begin = PartAt(offset).line_starts[Locate(offset).line - 1];
  size_t end = text.find('\n', begin);
  std::string_view line = text.substr(begin, end == std::string_view::npos ? end : end - begin);
  if (!line.empty() && line.back() == '\r') {
    line.remove_suffix(1);
  }
  return line;
}

}  // namespace etc
