// Source text and positions in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etc {

/// A half-open range of byte offsets in one SourceFile. The empty range at 0 means "no position".
struct SourceRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool IsValid() const { return end > begin; }
  friend bool operator==(const SourceRange&, const SourceRange&) = default;
};

/// One-based line and column (in bytes).
struct LineColumn {
  uint32_t line = 1;
  uint32_t column = 1;
};

/// A named source text with an index of its lines.
class SourceFile {
 public:
  SourceFile(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  LineColumn Locate(uint32_t offset) const;
  /// The text of a one-based line, without its line break.
  std::string_view Line(uint32_t line) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

}  // namespace etc
