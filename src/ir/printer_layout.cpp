#include <algorithm>

#include "ir/printer_impl.h"

namespace etc {
namespace {

/// How bad it is to break a line at the blank `at`: less where brackets are few and operators weak.
int Penalty(std::string_view line, size_t at, size_t depth) {
  std::string_view before = line.substr(0, at);
  auto ends_with = [&](std::string_view text) { return before.ends_with(text); };
  int operand = 9;
  if (line[at + 1] == '(' || line[at + 1] == '{') {
    operand = 25;  // what stands before a bracket keeps it
  } else if (ends_with(",") || ends_with("||") || (ends_with(" =") && depth == 0)) {
    operand = 0;
  } else if (ends_with("&&")) {
    operand = 1;
  } else if (ends_with("==") || ends_with("!=") || ends_with("<=") || ends_with(">=") ||
             ends_with(" <") || ends_with(" >")) {
    operand = 2;
  } else if (ends_with(" +") || ends_with(" -")) {
    operand = 3;
  } else if (ends_with(" *") || ends_with(" /") || ends_with(" %") || ends_with(")") ||
             ends_with("\"")) {
    operand = 4;
  }
  return 10 * static_cast<int>(depth) + operand;
}

/// A position in a text with the brackets that are open there, as offsets of what follows them.
class Brackets {
 public:
  void Read(std::string_view text, size_t i) {
    char c = text[i];
    bool glued = i > 0 && text[i - 1] != ' ';  // `Name<`, not the operator
    if (c == '"') {
      quoted_ = !quoted_;
    } else if (quoted_) {
      return;
    } else if (c == '(' || c == '[' || (c == '<' && glued)) {
      angles_ += c == '<' ? 1 : 0;
      open_.push_back(i + 1);
    } else if (c == ')' || c == ']' || (c == '>' && glued && angles_ > 0 && text[i - 1] != '=')) {
      angles_ -= c == '>' ? 1 : 0;
      if (!open_.empty()) {
        open_.pop_back();
      }
    }
  }
  bool quoted() const { return quoted_; }
  const std::vector<size_t>& open() const { return open_; }

 private:
  std::vector<size_t> open_;
  int angles_ = 0;
  bool quoted_ = false;
};

/// Where a line is broken, and how far the next one is indented.
struct Break {
  size_t at = std::string_view::npos;
  size_t indent = 0;
};

/// Breaks `line`, which is longer than a line may be, at the last of its least bad blanks. What
/// follows stands under what the innermost open bracket holds, or at `indent`.
Break FindBreak(std::string_view line, size_t indent) {
  Break best;
  int least = 0;
  Brackets brackets;
  size_t start = line.find_first_not_of(' ');
  for (size_t i = start; i < line.size(); ++i) {
    brackets.Read(line, i);
    if (line[i] != ' ' || brackets.quoted()) {
      continue;
    }
    if (i > kPrintColumns && best.at != std::string_view::npos) {
      break;
    }
    Break here{i, brackets.open().empty() ? indent : brackets.open().back()};
    bool early = i < start + (kPrintColumns - std::min(start, kPrintColumns)) / 3;
    bool rest_fits = here.indent + line.size() - i - 1 <= kPrintColumns;
    int penalty = Penalty(line, i, brackets.open().size()) + (early && !rest_fits ? 20 : 0) +
                  (rest_fits ? 0 : 2);
    if (best.at == std::string_view::npos || penalty <= least) {
      best = here;
      least = penalty;
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
  std::string line = std::string(2 * depth_, ' ') + std::string(text);
  size_t indent = 2 * depth_ + 4;
  while (line.size() > kPrintColumns) {
    Break here = FindBreak(line, indent);
    if (here.at == std::string::npos) {
      break;
    }
    Push(line.substr(0, here.at));
    line = std::string(here.indent, ' ') + line.substr(here.at + 1);
    indent = here.indent;
  }
  Push(std::move(line));
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
