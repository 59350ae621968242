#include <utility>

#include "ir/printer_impl.h"

namespace etc {

void PrintLayout::DropBlanks(uint32_t offset, bool keep) {
  while (next_blank_ < module_.blank_lines.size() && module_.blank_lines[next_blank_] <= offset) {
    blank_ = blank_ || keep;
    ++next_blank_;
  }
}

void PrintLayout::After(SourceRange range) {
  if (range.IsValid()) {
    DropBlanks(range.end - 1, false);
  }
}

bool PrintLayout::HasCommentBefore(uint32_t offset) const {
  return next_comment_ < module_.comments.size() &&
         module_.comments[next_comment_].range.begin < offset;
}

void PrintLayout::Flush(uint32_t offset) {
  while (next_comment_ < module_.comments.size()) {
    const Comment& comment = module_.comments[next_comment_];
    if (comment.range.begin >= offset) {
      break;
    }
    ++next_comment_;
    if (!comment.own_line && !commented_) {
      Behind(comment.text);
      DropBlanks(comment.range.begin, false);
      continue;
    }
    DropBlanks(comment.range.begin, true);
    Push(std::string(2 * depth_, ' ') + comment.text);
    commented_ = true;
  }
  DropBlanks(offset, true);
}

/// A comment that has no room stays inside of the construct that it stands in, so that the text
/// prints again as it is.
void PrintLayout::Behind(const std::string& comment) {
  const bool fits = keep_behind_ || lines_.back().size() + 2 + comment.size() <= kPrintColumns;
  if (!fits && depth_ > depth_of_last_) {
    Push(std::string(2 * depth_, ' ') + comment);
  } else if (!fits && last_is_line_) {
    lines_.insert(lines_.begin() + static_cast<std::ptrdiff_t>(first_of_last_),
                  std::string(2 * depth_of_last_, ' ') + comment);
  } else {
    lines_.back() += "  " + comment;
  }
  commented_ = true;
}

void PrintLayout::Push(std::string line) {
  if (blank_ && !after_open_) {
    lines_.emplace_back();
  }
  blank_ = false;
  after_open_ = false;
  commented_ = false;
  lines_.push_back(std::move(line));
}

void PrintLayout::Verbatim(std::string_view text) {
  Push(std::string(2 * depth_, ' ') + std::string(text));
  depth_of_last_ = depth_;
  last_is_line_ = false;
}

void PrintLayout::Line(std::string_view text) {
  bool is_first = true;
  for (std::string& line :
       BreakLine(std::string(2 * depth_, ' ') + std::string(text), 2 * depth_ + 4)) {
    Push(std::move(line));
    first_of_last_ = is_first ? lines_.size() - 1 : first_of_last_;
    is_first = false;
  }
  depth_of_last_ = depth_;
  last_is_line_ = true;
}

std::string PrintLayout::Take() {
  std::string text;
  for (const std::string& line : lines_) {
    text += line;
    text += '\n';
  }
  return text;
}

}  // namespace etc
