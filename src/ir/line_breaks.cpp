// Breaks lines of printed text that are longer than a line may be. It reads brackets and operators
// in the text itself, so that every printer may have its lines broken.
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "ir/printer_impl.h"

namespace etc {
namespace {

/// The words that begin a clause.
constexpr std::array kClauses = {"in",     "distinct", "monotone", "counts", "if",
                                 "layout", "from",     "or",       "via",    "when"};

bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

/// Whether a `&&` or `||` ends the operand that `rest` begins in.
bool OperandFollows(std::string_view rest) {
  int depth = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    char c = rest[i];
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (depth < 0 || (depth == 0 && c == ',')) {
      return false;
    }
    if (depth == 0 && (rest.substr(i).starts_with("&& ") || rest.substr(i).starts_with("|| "))) {
      return true;
    }
  }
  return false;
}

/// The penalty of a break within an operand.
constexpr int kWithin = 9;

/// How bad it is to break a line at the blank `at`: less where brackets are few and operators weak.
int Penalty(std::string_view line, size_t at, size_t depth) {
  std::string_view before = line.substr(0, at);
  std::string_view rest = line.substr(at + 1);
  std::string_view word = rest.substr(0, rest.find(' '));
  auto ends_with = [&](std::string_view text) { return before.ends_with(text); };
  int operand = kWithin;
  if (line[at + 1] == '{' || (line[at + 1] == '(' && IsLetter(before.back())) ||
      (line[at + 1] == '"' && depth == 0)) {
    operand = 25;  // a word keeps the bracket or the name behind it
  } else if (ends_with(",") || ends_with("||") || (ends_with(" =") && depth == 0)) {
    operand = 0;
  } else if (std::ranges::find(kClauses, word) != kClauses.end()) {
    operand = 1;
  } else if (ends_with("&&")) {
    operand = 2;
  } else if (ends_with("==") || ends_with("!=") || ends_with("<=") || ends_with(">=") ||
             ends_with(" <") || ends_with(" >")) {
    operand = OperandFollows(rest) ? 13 : 3;  // an operand of `&&` holds together as in brackets
  } else if (ends_with(" +") || ends_with(" -")) {
    operand = 4;
  } else if (ends_with(" *") || ends_with(" /") || ends_with(" %") ||
             (ends_with(")") && IsLetter(word[0])) || ends_with("\"")) {
    operand = 5;
  }
  return 10 * static_cast<int>(depth) + operand;
}

/// A position in a text that is broken into lines, with the brackets that are open there.
class Brackets {
 public:
  struct Open {
    size_t column = 0;     // of what the bracket holds
    bool angle = false;    // it is a `<`
    bool earlier = false;  // it stands on an earlier line
    bool hangs = false;    // what it holds stands below the line rather than below the bracket
    bool split = false;    // a line ends inside of the operand that is open in it
  };

  void Read(std::string_view line, size_t i) {
    char c = line[i];
    bool glued = i > 0 && line[i - 1] != ' ';  // `Name<`, not the operator
    bool behind_list = std::exchange(closed_list_, false);
    bool far = line.size() - i > 2 * (kPrintColumns - std::min(i, kPrintColumns));
    if (c == '"') {
      quoted_ = !quoted_;
    } else if (quoted_) {
      return;
    } else if (c == '(' || c == '[' || (c == '<' && glued)) {
      bool hangs = glued && ((c == '(' && line[i - 1] == '>' && (behind_list || far)) ||
                             (c == '[' && line[i - 1] == '"' && far));
      open_.push_back({.column = i + 1, .angle = c == '<', .hangs = hangs});
    } else if (open_.empty()) {
      return;
    } else if (c == ')' || c == ']') {
      open_.pop_back();
    } else if (c == '>' && glued && open_.back().angle && line[i - 1] != '=') {
      closed_list_ = open_.back().earlier;
      open_.pop_back();
    }
  }
  /// A line ends behind `before`.
  void Break(std::string_view before) {
    for (Open& open : open_) {
      open.earlier = true;
    }
    if (!open_.empty()) {
      open_.back().split = !before.ends_with(',') && !before.ends_with('(');
    }
  }
  bool quoted() const { return quoted_; }
  const std::vector<Open>& open() const { return open_; }

 private:
  std::vector<Open> open_;
  bool quoted_ = false;
  bool closed_list_ = false;  // in `<>`, which began on an earlier line
};

/// Where a line ends, where the next one begins, and what is open there.
struct LineEnd {
  size_t at = std::string_view::npos;
  size_t next = 0;
  Brackets brackets;
  int penalty = 0;

  explicit operator bool() const { return at != std::string_view::npos; }
  /// Of the next line, which stands under what the innermost open bracket holds, or at `indent`.
  size_t Indent(size_t indent) const {
    const auto& open = brackets.open();
    return open.empty() || open.back().hangs ? indent : open.back().column;
  }
};

/// Breaks `line` at the last of its least bad places, if it is longer than a line may be, or behind
/// an operand of a list that began on an earlier line. `brackets` are open at the start. With
/// `outside` it breaks only where no bracket is open.
LineEnd FindBreak(std::string_view line, size_t indent, Brackets brackets, bool outside) {
  LineEnd best;
  int least = 0;
  size_t start = line.find_first_not_of(' ');
  for (size_t i = start; i < line.size(); ++i) {
    brackets.Read(line, i);
    size_t depth = brackets.open().size();
    bool hangs = line[i] == '(' && brackets.open().back().hangs;
    if ((line[i] != ' ' && !hangs) || brackets.quoted()) {
      continue;
    }
    LineEnd here{hangs ? i + 1 : i, i + 1, brackets, hangs ? 0 : Penalty(line, i, depth)};
    if (here.at > kPrintColumns && (best || outside)) {
      break;
    }
    if (depth > 0 && brackets.open().back().split && line[i - 1] == ',') {
      return here;
    }
    if (line.size() <= kPrintColumns || (outside && (depth > 0 || here.penalty >= kWithin))) {
      continue;
    }
    bool early = i < start + (kPrintColumns - std::min(start, kPrintColumns)) / 3;
    bool rest_fits = here.Indent(indent) + line.size() - here.next <= kPrintColumns;
    if (hangs && !rest_fits) {
      return here;
    }
    int penalty = here.penalty + (rest_fits ? 0 : 2) + (early && !rest_fits && !outside ? 20 : 0);
    if (!best || penalty <= least) {
      best = here;
      least = penalty;
    }
  }
  return best;
}

struct Lines {
  std::vector<std::string> texts;
  int penalty = 0;
};

/// With `outside` the first line ends where no bracket is open.
Lines Break(std::string line, size_t indent, bool outside) {
  Lines lines;
  Brackets brackets;
  while (LineEnd end = FindBreak(line, indent, brackets, outside && lines.texts.empty())) {
    lines.penalty += end.penalty + 10;
    brackets = end.brackets;
    brackets.Break(line.substr(0, end.at));
    std::string rest = std::string(end.Indent(indent), ' ') + line.substr(end.next);
    line.resize(end.at);
    lines.texts.push_back(std::exchange(line, std::move(rest)));
  }
  lines.texts.push_back(std::move(line));
  return lines;
}

}  // namespace

std::vector<std::string> BreakLine(std::string line, size_t indent) {
  if (line.size() <= kPrintColumns) {
    return {std::move(line)};
  }
  Lines lines = Break(line, indent, false);
  Lines outside = Break(std::move(line), indent, true);
  bool better = outside.texts.size() > 1 && outside.penalty < lines.penalty;
  return (better ? outside : lines).texts;
}

}  // namespace etc
