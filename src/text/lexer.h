// From source text to tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace etc {

enum class TokenKind : uint8_t {
  End,       // of the file
  Name,      // `batch`
  Tensor,    // `%x`
  Function,  // `@f`
  Word,      // `'residual`
  Int,
  Float,
  String,  // `"gemm.cuh"`
  Text,    // `""" … """`
#define ETC_PUNCTUATION(name, text) name,
#define ETC_KEYWORD(name, text) Keyword##name,
#include "text/tokens.def"
};

/// The spelling of a punctuation mark or keyword, or what the kind is called, in backticks or
/// words.
std::string_view Describe(TokenKind kind);

struct Token {
  TokenKind kind = TokenKind::End;
  SourceRange range;
  std::string_view text;  // without sigil or quotes
  int64_t int_value = 0;
  double float_value = 0;
  bool starts_line = false;
  bool after_error = false;  // what precedes it could not be read, and has been reported
};

struct Tokens {
  std::vector<Token> tokens;  // the last is End
  std::vector<Comment> comments;
  std::vector<uint32_t> blank_lines;  // see Module::blank_lines
};

/// Splits the text that begins at this offset of the source, whole, reporting what no token can
/// start with.
Tokens Lex(const SourceFile& source, Diagnostics& diagnostics, uint32_t begin = 0);

}  // namespace etc
