#include "text/lexer.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace etc {
namespace {

struct Lexed {
  explicit Lexed(const std::string& text)
      : source("t.etir", text), tokens(Lex(source, diagnostics)) {}

  SourceFile source;
  Diagnostics diagnostics;
  Tokens tokens;

  TokenKind Kind(size_t i) const { return tokens.tokens.at(i).kind; }
  SourceRange ErrorRange() const {
    REQUIRE(diagnostics.all().size() == 1);
    CHECK(diagnostics.all()[0].kind == DiagnosticKind::Lexical);
    return diagnostics.all()[0].range;
  }
};

TEST_CASE("every punctuation mark and keyword is its own token"){
#define ETC_PUNCTUATION(name, text)          \
  {                                          \
    Lexed lexed(text);                       \
    CHECK(lexed.Kind(0) == TokenKind::name); \
    CHECK(lexed.Kind(1) == TokenKind::End);  \
  }
#define ETC_KEYWORD(name, text)                       \
  {                                                   \
    Lexed lexed(text);                                \
    CHECK(lexed.Kind(0) == TokenKind::Keyword##name); \
  }
#include "text/tokens.def"
}

TEST_CASE("sigils, words, strings and texts") {
  Lexed lexed("%x @f 'word \"a b.cuh\" \"\"\"x \"y\"\n\"\"\" name_1");
  CHECK(lexed.Kind(0) == TokenKind::Tensor);
  CHECK(lexed.tokens.tokens[0].text == "x");
  CHECK(lexed.Kind(1) == TokenKind::Function);
  CHECK(lexed.Kind(2) == TokenKind::Word);
  CHECK(lexed.tokens.tokens[2].text == "word");
  CHECK(lexed.Kind(3) == TokenKind::String);
  CHECK(lexed.tokens.tokens[3].text == "a b.cuh");
  CHECK(lexed.Kind(4) == TokenKind::Text);
  CHECK(lexed.tokens.tokens[4].text == "x \"y\"\n");
  CHECK(lexed.Kind(5) == TokenKind::Name);
  CHECK_FALSE(lexed.diagnostics.HasErrors());
}

TEST_CASE("numbers") {
  Lexed lexed("0 9223372036854775807 1.5 1e-6 2E+3 1..4");
  CHECK(lexed.tokens.tokens[1].int_value == INT64_MAX);
  CHECK(lexed.tokens.tokens[2].float_value == 1.5);
  CHECK(lexed.tokens.tokens[3].float_value == 1e-6);
  CHECK(lexed.tokens.tokens[4].float_value == 2000.0);
  CHECK(lexed.Kind(5) == TokenKind::Int);
  CHECK(lexed.Kind(6) == TokenKind::DotDot);
  CHECK(lexed.Kind(7) == TokenKind::Int);
}

TEST_CASE("lexical errors have exact ranges") {
  CHECK(Lexed("a 9223372036854775808;").ErrorRange() == SourceRange{2, 21});
  CHECK(Lexed("1e999").ErrorRange() == SourceRange{0, 5});
  CHECK(Lexed("12abc + 1").ErrorRange() == SourceRange{0, 5});
  CHECK(Lexed("a $ b").ErrorRange() == SourceRange{2, 3});
  CHECK(Lexed("a \xc3\xa9 b").ErrorRange() == SourceRange{2, 4});
  CHECK(Lexed("a \xff\xfe b").ErrorRange() == SourceRange{2, 4});
  CHECK(Lexed("a \x01").ErrorRange() == SourceRange{2, 3});
  CHECK(Lexed(std::string("a \0 b", 5)).ErrorRange() == SourceRange{2, 3});
  CHECK(Lexed("@ f").ErrorRange() == SourceRange{0, 1});
  CHECK(Lexed("' f").ErrorRange() == SourceRange{0, 1});
  CHECK(Lexed("x \"abc\n").ErrorRange() == SourceRange{2, 6});
  CHECK(Lexed("x \"\"\"abc\n").ErrorRange() == SourceRange{2, 5});
  CHECK(Lexed("// \xff").ErrorRange() == SourceRange{3, 4});
  CHECK(Lexed("\"a\xed\xa0\x80\"").ErrorRange() == SourceRange{2, 3});
  CHECK(Lexed("// overlong \xc0\xaf").ErrorRange() == SourceRange{12, 13});
}

TEST_CASE("comments may hold any UTF-8 and lose the blanks at their end") {
  Lexed lexed("a // 32×32 tiles  \r\n  // own\n");
  REQUIRE(lexed.tokens.comments.size() == 2);
  CHECK(lexed.tokens.comments[0].text == "// 32×32 tiles");
  CHECK_FALSE(lexed.tokens.comments[0].own_line);
  CHECK(lexed.tokens.comments[1].own_line);
  CHECK_FALSE(lexed.diagnostics.HasErrors());
}

TEST_CASE("empty lines and line starts are noted") {
  Lexed lexed("\n\na b\n\n\n// c\nd");
  CHECK(lexed.tokens.blank_lines == std::vector<uint32_t>{8});
  CHECK(lexed.tokens.tokens[0].starts_line);
  CHECK_FALSE(lexed.tokens.tokens[1].starts_line);
  CHECK(lexed.tokens.tokens[2].starts_line);
}

TEST_CASE("an empty text is one end") {
  Lexed lexed("");
  REQUIRE(lexed.tokens.tokens.size() == 1);
  CHECK(lexed.Kind(0) == TokenKind::End);
}

}  // namespace
}  // namespace etc
