#include <algorithm>

#include "ir/printer_impl.h"

namespace etc {
namespace {

/// How bad it is to break a line at a blank: less where brackets are few and operators weak.
int Penalty(std::string_view before, int depth) {
  auto ends_with = [&](std::string_view text) { return before.ends_with(text); };
  int operand = 9;
  if (ends_with(",") || ends_with(" =") || ends_with("||")) {
    operand = 0;
  } else if (ends_with("&&")) {
    operand = 1;
  } else if (ends_with("=") || ends_with(" <") || ends_with(" >")) {
    operand = 2;
  } else if (ends_with(" +") || ends_with(" -")) {
    operand = 3;
  } else if (ends_with(" *") || ends_with(" /") || ends_with(" %") || ends_with(")")) {
    operand = 4;
  }
  return 10 * depth + operand;
}

/// Where to break a text that is longer than `room`: the last of the least bad blanks, or nowhere.
size_t BreakAt(std::string_view text, size_t room) {
  size_t best = std::string_view::npos;
  int least = 0;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      quoted = !quoted;
    } else if (quoted) {
      continue;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      --depth;
    } else if (c == ' ' && i > 0) {
      if (i > room && best != std::string_view::npos) {
        break;
      }
      int penalty = Penalty(text.substr(0, i), depth) + (i < room / 3 ? 20 : 0);
      if (best == std::string_view::npos || penalty <= least) {
        best = i;
        least = penalty;
      }
    }
  }
  return best;
}

}  // namespace

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

bool PrintLayout::HasCommentBefore(SourceRange end) const {
  return next_comment_ < module_.comments.size() && end.IsValid() &&
         module_.comments[next_comment_].range.begin < end.end;
}

void PrintLayout::Flush(uint32_t offset) {
  while (next_comment_ < module_.comments.size()) {
    const Comment& comment = module_.comments[next_comment_];
    if (comment.range.begin >= offset) {
      break;
    }
    ++next_comment_;
    if (!comment.own_line && !commented_) {
      lines_.back() += "  " + comment.text;
      commented_ = true;
      DropBlanks(comment.range.begin, false);
      continue;
    }
    DropBlanks(comment.range.begin, true);
    Push(std::string(2 * depth_, ' ') + comment.text);
    commented_ = true;
  }
  DropBlanks(offset, true);
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
}

void PrintLayout::Line(std::string_view text) {
  size_t indent = 2 * depth_;
  while (indent + text.size() > kPrintColumns) {
    size_t at = BreakAt(text, kPrintColumns - std::min(indent, kPrintColumns));
    if (at == std::string_view::npos) {
      break;
    }
    Push(std::string(indent, ' ') + std::string(text.substr(0, at)));
    text.remove_prefix(at + 1);
    indent = 2 * depth_ + 4;
  }
  Push(std::string(indent, ' ') + std::string(text));
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
