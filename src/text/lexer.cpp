#include "text/lexer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <utility>

namespace etc {
namespace {

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

using Spelled = std::pair<std::string_view, TokenKind>;

/// Spellings by their first byte; of one byte, in the order in which they are listed.
template <size_t kCount>
class Spellings {
 public:
  explicit constexpr Spellings(const Spelled (&listed)[kCount]) {
    size_t placed = 0;
    for (size_t byte = 0; byte < kBytes; ++byte) {
      begins_[byte] = placed;
      for (const Spelled& each : listed) {
        if (static_cast<size_t>(each.first.front()) == byte) {
          sorted_[placed++] = each;
        }
      }
    }
    begins_[kBytes] = placed;
  }

  std::span<const Spelled> From(char first) const {
    auto byte = static_cast<unsigned char>(first);
    return byte < kBytes
               ? std::span(sorted_).subspan(begins_[byte], begins_[byte + 1] - begins_[byte])
               : std::span<const Spelled>();
  }

 private:
  static constexpr size_t kBytes = 128;

  std::array<Spelled, kCount> sorted_{};
  std::array<size_t, kBytes + 1> begins_{};
};

constexpr Spelled kListedPunctuation[] = {
#define ETC_PUNCTUATION(name, text) {text, TokenKind::name},
#include "text/tokens.def"
};
constexpr Spelled kListedKeywords[] = {
#define ETC_KEYWORD(name, text) {text, TokenKind::Keyword##name},
#include "text/tokens.def"
};
constexpr Spellings kPunctuation(kListedPunctuation);
constexpr Spellings kKeywords(kListedKeywords);

TokenKind KindOfName(std::string_view name) {
  for (const auto& [text, kind] : kKeywords.From(name.front())) {
    if (name == text) {
      return kind;
    }
  }
  return TokenKind::Name;
}

/// The length of the UTF-8 sequence that `text` starts with, or 0 where there is none.
size_t SequenceLength(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  size_t length = byte(0) < 0x80   ? 1
                  : byte(0) < 0xc2 ? 0
                  : byte(0) < 0xe0 ? 2
                  : byte(0) < 0xf0 ? 3
                  : byte(0) < 0xf5 ? 4
                                   : 0;
  if (length == 0 || length > text.size()) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2) {
      return 0;
    }
  }
  bool overlong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90);
  bool surrogate = byte(0) == 0xed && byte(1) >= 0xa0;
  bool too_large = byte(0) == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

/// Some editors put it in front of a text. It cannot be seen.
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

class Lexer {
 public:
  Lexer(std::string_view text, uint32_t offset, Diagnostics& diagnostics)
      : text_(text), offset_(offset), diagnostics_(diagnostics) {}

  Tokens Run() {
    while (SkipBlanks()) {
      Next();
    }
    Token end;
    auto size = static_cast<uint32_t>(text_.size());
    end.range = RangeOf(size == 0 ? 0 : size - 1, size);
    Push(end);
    return std::move(result_);
  }

 private:
  char At(size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }
  std::string_view Rest() const { return text_.substr(pos_); }
  /// Bytes of the text as a range of the source.
  SourceRange RangeOf(size_t begin, size_t end) const {
    return {offset_ + static_cast<uint32_t>(begin), offset_ + static_cast<uint32_t>(end)};
  }
  SourceRange From(size_t begin) const { return RangeOf(begin, pos_); }

  Diagnostic& Error(SourceRange range, std::string message) {
    after_error_ = true;
    return diagnostics_.Error(DiagnosticKind::Lexical, range, std::move(message));
  }

  /// Skips blanks and notes the line breaks among them; false at the end of the text.
  bool SkipBlanks() {
    while (pos_ < text_.size() && IsBlank(text_[pos_])) {
      line_breaks_ += text_[pos_] == '\n' ? 1 : 0;
      ++pos_;
    }
    return pos_ < text_.size();
  }

  /// Called at the first offset of every token and comment: whether it starts a line.
  bool TakeLineBreaks(uint32_t begin) {
    bool starts_line = line_breaks_ > 0 || !seen_any_;
    if (line_breaks_ > 1 && seen_any_) {
      result_.blank_lines.push_back(begin);
    }
    line_breaks_ = 0;
    seen_any_ = true;
    return starts_line;
  }

  void Push(Token token) {
    token.starts_line = TakeLineBreaks(token.range.begin);
    token.after_error = after_error_;
    after_error_ = false;
    result_.tokens.push_back(token);
  }

  void Push(TokenKind kind, size_t begin, std::string_view text) {
    Token token;
    token.kind = kind;
    token.range = From(begin);
    token.text = text;
    Push(token);
  }

  void Next() {
    char c = text_[pos_];
    size_t begin = pos_;
    if (Rest().starts_with("//")) {
      LexComment();
    } else if (IsNameStart(c)) {
      std::string_view name = TakeName();
      Push(KindOfName(name), begin, name);
    } else if (IsDigit(c)) {
      LexNumber();
    } else if ((c == '%' || c == '@' || c == '\'') && IsNameStart(At(pos_ + 1))) {
      ++pos_;
      std::string_view name = TakeName();
      TokenKind kind = c == '%'   ? TokenKind::Tensor
                       : c == '@' ? TokenKind::Function
                                  : TokenKind::Word;
      Push(kind, begin, name);
    } else if (Rest().starts_with("\"\"\"")) {
      LexText();
    } else if (c == '"') {
      LexString();
    } else if (!LexPunctuation()) {
      LexUnknown();
    }
  }

  std::string_view TakeName() {
    size_t begin = pos_;
    while (IsNamePart(At(pos_))) {
      ++pos_;
    }
    return text_.substr(begin, pos_ - begin);
  }

  void LexComment() {
    size_t begin = pos_;
    pos_ = std::min(text_.find('\n', pos_), text_.size());
    CheckBytes(begin, pos_);
    size_t end = pos_;
    while (IsBlank(text_[end - 1])) {
      --end;
    }
    Comment comment;
    comment.range = RangeOf(begin, end);
    comment.text = text_.substr(begin, end - begin);
    comment.own_line = TakeLineBreaks(comment.range.begin);
    result_.comments.push_back(std::move(comment));
  }

  void LexNumber() {
    size_t begin = pos_;
    auto digits = [&] {
      while (IsDigit(At(pos_))) {
        ++pos_;
      }
    };
    digits();
    bool is_float = false;
    if (At(pos_) == '.' && IsDigit(At(pos_ + 1))) {
      is_float = true;
      ++pos_;
      digits();
    }
    if (At(pos_) == 'e' || At(pos_) == 'E') {
      size_t sign = At(pos_ + 1) == '+' || At(pos_ + 1) == '-' ? 1 : 0;
      if (IsDigit(At(pos_ + 1 + sign))) {
        is_float = true;
        pos_ += 1 + sign;
        digits();
      }
    }
    std::string_view number = text_.substr(begin, pos_ - begin);
    Token token;
    token.kind = is_float ? TokenKind::Float : TokenKind::Int;
    token.text = number;
    token.range = From(begin);
    std::errc status;
    const char* end = number.data() + number.size();
    if (is_float) {
      status = std::from_chars(number.data(), end, token.float_value).ec;
    } else {
      status = std::from_chars(number.data(), end, token.int_value).ec;
    }
    if (status == std::errc::result_out_of_range) {
      Error(token.range,
            is_float ? fmt::format("the float `{}` is outside the range of 64-bit floats", number)
                     : fmt::format("the integer `{}` does not fit in 64 bits", number));
    }
    if (IsNamePart(At(pos_))) {
      TakeName();
      Error(From(begin), fmt::format("`{}` is not a number", text_.substr(begin, pos_ - begin)));
      token.range = From(begin);
    }
    Push(token);
  }

  void LexString() {
    size_t begin = pos_;
    ++pos_;
    while (pos_ < text_.size() && text_[pos_] != '"' && text_[pos_] != '\n') {
      ++pos_;
    }
    std::string_view contents = text_.substr(begin + 1, pos_ - begin - 1);
    CheckBytes(begin, pos_);
    if (At(pos_) == '"') {
      ++pos_;
    } else {
      Error(From(begin), "the string does not end on its line: expected `\"`");
    }
    Push(TokenKind::String, begin, contents);
  }

  void LexText() {
    size_t begin = pos_;
    size_t end = text_.find("\"\"\"", begin + 3);
    if (end == std::string_view::npos) {
      pos_ = text_.size();
      Error(RangeOf(begin, begin + 3), "the text does not end: expected `\"\"\"`");
      Push(TokenKind::Text, begin, text_.substr(begin + 3));
      return;
    }
    CheckBytes(begin, end);
    pos_ = end + 3;
    Push(TokenKind::Text, begin, text_.substr(begin + 3, end - begin - 3));
  }

  bool LexPunctuation() {
    for (const auto& [text, kind] : kPunctuation.From(text_[pos_])) {
      if (Rest().starts_with(text)) {
        size_t begin = pos_;
        pos_ += text.size();
        Push(kind, begin, text);
        return true;
      }
    }
    return false;
  }

  /// One error for a run of bytes that start no token.
  void LexUnknown() {
    size_t begin = pos_;
    size_t length = SequenceLength(Rest());
    auto byte = static_cast<unsigned char>(text_[pos_]);
    pos_ += std::max<size_t>(length, 1);
    if (length == 0) {
      while (pos_ < text_.size() && SequenceLength(Rest()) == 0) {
        ++pos_;
      }
      Error(From(begin), fmt::format("the byte 0x{:02x} is not UTF-8", byte));
    } else if (byte < 0x20 || byte == 0x7f) {
      Error(From(begin), fmt::format("unexpected control character 0x{:02x}", byte));
    } else if (byte == '@' || byte == '\'') {
      Error(From(begin), fmt::format("expected a name after `{}`", static_cast<char>(byte)));
    } else if (text_.substr(begin, length) == kByteOrderMark) {
      Error(From(begin), "unexpected byte order mark (U+FEFF)");
    } else {
      Error(From(begin), fmt::format("unexpected character `{}`", text_.substr(begin, length)));
    }
  }

  /// Comments, strings and texts hold any UTF-8 but control characters.
  void CheckBytes(size_t begin, size_t end) {
    for (size_t i = begin; i < end;) {
      auto byte = static_cast<unsigned char>(text_[i]);
      if (byte >= 0x20 && byte < 0x7f) {
        ++i;
        continue;
      }
      size_t length = SequenceLength(text_.substr(i, end - i));
      SourceRange range = RangeOf(i, i + 1);
      if (length == 0) {
        Error(range, fmt::format("the byte 0x{:02x} is not UTF-8", byte));
        return;
      }
      if ((byte < 0x20 && !IsBlank(text_[i])) || byte == 0x7f) {
        Error(range, fmt::format("unexpected control character 0x{:02x}", byte));
        return;
      }
      i += length;
    }
  }

  std::string_view text_;
  uint32_t offset_;  // of the text in the source
  Diagnostics& diagnostics_;
  Tokens result_;
  size_t pos_ = 0;
  int line_breaks_ = 0;
  bool seen_any_ = false;
  bool after_error_ = false;
};

}  // namespace

std::string_view Describe(TokenKind kind) {
  switch (kind) {
    case TokenKind::End:
      return "the end of the file";
    case TokenKind::Name:
      return "a name";
    case TokenKind::Tensor:
      return "a `%name`";
    case TokenKind::Function:
      return "an `@name`";
    case TokenKind::Word:
      return "a quoted word";
    case TokenKind::Int:
      return "an integer";
    case TokenKind::Float:
      return "a float";
    case TokenKind::String:
      return "a string";
    case TokenKind::Text:
      return "a text";
#define ETC_PUNCTUATION(name, text) \
  case TokenKind::name:             \
    return "`" text "`";
#define ETC_KEYWORD(name, text)  \
  case TokenKind::Keyword##name: \
    return "`" text "`";
#include "text/tokens.def"
  }
  InternalError(__FILE__, __LINE__, "a token of no kind");
}

Tokens Lex(const SourceFile& source, Diagnostics& diagnostics, uint32_t begin) {
  return Lexer(source.TextAt(begin), begin, diagnostics).Run();
}

}  // namespace etc
