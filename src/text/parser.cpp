#include "text/parser.h"

#include <fmt/format.h>

#include "support/nearest_word.h"
#include "text/parser_impl.h"
#include "text/words.h"

namespace etc {
namespace {

constexpr int kMaxNesting = 200;

bool StartsItem(const Token& token) {
  switch (token.kind) {
    case TokenKind::KeywordImport:
    case TokenKind::KeywordFn:
    case TokenKind::KeywordConst:
    case TokenKind::KeywordDim:
    case TokenKind::KeywordRequire:
    case TokenKind::KeywordDevice:
    case TokenKind::KeywordGraph:
    case TokenKind::KeywordKernel:
      return token.starts_line;
    default:
      return false;
  }
}

/// Whether a statement starts here for certain, so that a broken one before it ends here.
bool StartsStatement(const Token& token) {
  switch (token.kind) {
    case TokenKind::KeywordFor:
    case TokenKind::KeywordIf:
    case TokenKind::KeywordLet:
    case TokenKind::KeywordLocal:
    case TokenKind::KeywordImpl:
    case TokenKind::KeywordCall:
    case TokenKind::KeywordEvent:
    case TokenKind::KeywordRepeat:
    case TokenKind::KeywordRegion:
    case TokenKind::KeywordShare:
    case TokenKind::KeywordRun:
      return token.starts_line;
    default:
      return false;
  }
}

}  // namespace

Parser::Parser(const SourceFile& source, SourceFile* growing, const ImportReader* reader,
               AbsentImports absent, Diagnostics& diagnostics)
    : source_(source),
      growing_(growing),
      reader_(reader),
      absent_imports_(absent),
      diagnostics_(diagnostics),
      module_(std::make_unique<Module>()) {
  Tokens tokens = Lex(source, diagnostics);
  tokens_ = std::move(tokens.tokens);
  module_->comments = std::move(tokens.comments);
  module_->blank_lines = std::move(tokens.blank_lines);
  Predefine();
}

void Parser::Predefine() {
  for (SymbolId id : {module_->sms, module_->target_sms, module_->target_shared_bytes}) {
    (void)names_.scalars.Declare(module_->symbols[id].name, id, {});
  }
}

const Token& Parser::Peek(size_t ahead) const {
  size_t last = tokens_.size() - 1;
  return tokens_[panicking_ ? last : std::min(pos_ + ahead, last)];
}

const Token& Parser::Take() {
  const Token& token = Peek();
  if (token.kind != TokenKind::End) {
    ++pos_;
  }
  return token;
}

bool Parser::Accept(TokenKind kind) {
  if (panicking_ || !At(kind)) {
    return false;
  }
  Take();
  return true;
}

Token Parser::Expect(TokenKind kind) {
  if (!panicking_ && At(kind)) {
    return Take();
  }
  Unexpected(Describe(kind));
  return {};
}

Token Parser::ExpectAnyName() {
  const Token& token = Peek();
  if (!token.text.empty() &&
      (token.kind == TokenKind::Name || token.kind >= TokenKind::KeywordEtir)) {
    return Take();
  }
  Unexpected(Describe(TokenKind::Name));
  return {};
}

void Parser::ExpectSemicolon() {
  if (Accept(TokenKind::Semicolon) || panicking_) {
    return;
  }
  const Token& next = Peek();
  bool at_line_end = next.starts_line || next.kind == TokenKind::RightBrace;
  Unexpected(Describe(TokenKind::Semicolon));
  if (at_line_end) {
    panicking_ = false;
  }
}

SourceRange Parser::RangeFrom(uint32_t begin) const {
  uint32_t end = pos_ > 0 ? tokens_[pos_ - 1].range.end : 0;
  return {begin, std::max(end, begin)};
}

size_t Parser::BehindBracket(size_t index) const {
  int depth = 0;
  for (; index + 1 < tokens_.size(); ++index) {
    TokenKind kind = tokens_[index].kind;
    if (kind == TokenKind::LeftParen || kind == TokenKind::AtParen ||
        kind == TokenKind::LeftBracket) {
      ++depth;
    } else if (kind == TokenKind::RightParen || kind == TokenKind::RightBracket) {
      --depth;
    }
    if (depth == 0) {
      return index + 1;
    }
  }
  return index;
}

void Parser::Unexpected(std::string_view expected) {
  if (panicking_) {
    return;
  }
  const Token& found = Peek();
  if (found.after_error) {
    panicking_ = true;  // the lexer has said what is wrong here
    return;
  }
  std::string spelling(Describe(found.kind));
  if (found.kind != TokenKind::End && found.kind != TokenKind::Text) {
    SourceRange range = found.range;
    spelling = fmt::format("`{}`", source_.Text(range));
  }
  bool keyword = found.kind >= TokenKind::KeywordEtir && expected == Describe(TokenKind::Name);
  std::vector<Note> notes;
  if (found.kind == TokenKind::Name && found.text.size() > 3) {
    if (std::string word = NearestWord(found.text, KeywordWords()); !word.empty()) {
      notes.push_back({{}, fmt::format("did you mean `{}`?", word)});
    }
  }
  Panic(DiagnosticKind::Syntax, found.range,
        fmt::format("expected {}, found {}{}", expected, keyword ? "the keyword " : "", spelling),
        std::move(notes));
}

void Parser::Panic(DiagnosticKind kind, SourceRange range, std::string message,
                   std::vector<Note> notes) {
  if (!panicking_) {
    diagnostics_.Error(kind, range, std::move(message)).notes = std::move(notes);
    panicking_ = true;
  }
}

void Parser::Recover(size_t start) {
  panicking_ = false;
  int depth = 0;
  while (!At(TokenKind::End)) {
    if (StartsItem(Peek()) && pos_ > start) {
      return;
    }
    if (depth == 0) {
      if (At(TokenKind::RightBrace) || (StartsStatement(Peek()) && pos_ > start)) {
        return;
      }
      if (Accept(TokenKind::Semicolon)) {
        return;
      }
    }
    TokenKind kind = Take().kind;
    if (kind == TokenKind::LeftBrace) {
      ++depth;
    } else if (kind == TokenKind::RightBrace && --depth == 0) {
      return;
    }
  }
}

bool Parser::RecoverAtBrace() {
  panicking_ = false;
  while (!At(TokenKind::LeftBrace)) {
    if (At(TokenKind::End) || At(TokenKind::Semicolon) || At(TokenKind::RightBrace) ||
        StartsItem(Peek())) {
      panicking_ = true;
      return false;
    }
    Take();
  }
  return true;
}

bool Parser::Enter() {
  if (++depth_ <= kMaxNesting) {
    return true;
  }
  if (too_deep_) {
    panicking_ = true;
  }
  Panic(DiagnosticKind::NestingTooDeep, Peek().range,
        fmt::format("nested more than {} levels deep", kMaxNesting));
  too_deep_ = true;
  return false;
}

bool Parser::AtBlockEnd() const {
  return panicking_ || At(TokenKind::RightBrace) || At(TokenKind::End) || StartsItem(Peek());
}

SourceRange Parser::Block(const StatementParser& statement) {
  uint32_t begin = Here();
  Expect(TokenKind::LeftBrace);
  while (!AtBlockEnd()) {
    size_t start = pos_;
    statement();
    if (panicking_) {
      Recover(start);
    }
  }
  Expect(TokenKind::RightBrace);
  return RangeFrom(begin);
}

SourceRange Parser::BlockAfterHeader(const StatementParser& statement) {
  bool wrong = panicking_;
  if (wrong && !RecoverAtBrace()) {
    return {};
  }
  silent_names_ += wrong ? 1 : 0;
  SourceRange braces = Block(statement);
  silent_names_ -= wrong ? 1 : 0;
  return braces;
}

std::unique_ptr<Module> Parser::Run() {
  importing_.push_back(source_.name());
  module_->header = Header();
  Items();
  return std::move(module_);
}

void Parser::Items() {
  while (!At(TokenKind::End)) {
    size_t start = pos_;
    reported_.clear();
    too_deep_ = false;
    Item();
    if (panicking_) {
      Recover(start);
      Accept(TokenKind::RightBrace);
    }
  }
}

namespace {

std::unique_ptr<Module> ParseAll(const SourceFile& source, SourceFile* growing,
                                 const ImportReader* reader, AbsentImports absent,
                                 Diagnostics& diagnostics) {
  size_t errors_before = diagnostics.error_count();
  std::unique_ptr<Module> module = Parser(source, growing, reader, absent, diagnostics).Run();
  return diagnostics.error_count() > errors_before ? nullptr : std::move(module);
}

}  // namespace

std::unique_ptr<Module> Parse(SourceFile& source, const ImportReader& reader,
                              Diagnostics& diagnostics, AbsentImports absent) {
  return ParseAll(source, &source, &reader, absent, diagnostics);
}

std::unique_ptr<Module> Parse(const SourceFile& source, Diagnostics& diagnostics) {
  return ParseAll(source, nullptr, nullptr, AbsentImports::Refused, diagnostics);
}

}  // namespace etc
