// Source text and positions in it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace etc {

/// A half-open range of byte offsets in one SourceFile. The empty range at 0 means "no position".
struct SourceRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool IsValid() const { return end > begin; }
  bool Contains(SourceRange inner) const { return begin <= inner.begin && inner.end <= end; }
  friend bool operator==(const SourceRange&, const SourceRange&) = default;
};

/// One-based line and column (in bytes).
struct LineColumn {
  uint32_t line = 1;
  uint32_t column = 1;
};

/// A named source text with an index of its lines, and behind it those that it imports: an offset
/// is a position in one of them.
class SourceFile {
 public:
  SourceFile(std::string name, std::string text);

  /// Adds an imported text; returns the offset of its first byte. Texts stay where they are.
  uint32_t Add(std::string name, std::string text);

  /// The name and the text of the file itself, without what it imports.
  const std::string& name() const { return parts_.front().name; }
  std::string_view text() const { return parts_.front().text; }

  /// Behind the last offset of all texts.
  uint32_t end() const;
  /// The name of the text that the offset is in.
  const std::string& NameAt(uint32_t offset) const { return PartAt(offset).name; }
  /// The text that the offset is in, whole.
  std::string_view TextAt(uint32_t offset) const { return PartAt(offset).text; }
  /// What stands at a range of one text.
  std::string_view Text(SourceRange range) const;
  LineColumn Locate(uint32_t offset) const;
  /// The line that the offset is in, without its line break.
  std::string_view LineAt(uint32_t offset) const;

 private:
  struct Part {
    std::string name;
    std::string text;
    uint32_t begin;
    std::vector<uint32_t> line_starts;  // from the beginning of the text
  };
  const Part& PartAt(uint32_t offset) const;

  std::deque<Part> parts_;  // a deque: views of the texts stay valid
};

}  // namespace etc
