// Statements of device functions.
#include "text/parser_impl.h"

namespace etc {

void Parser::Statement(std::vector<StmtId>& body) {
  Nesting nesting(*this);
  if (!nesting.ok) {
    return;
  }
  switch (Peek().kind) {
    case TokenKind::KeywordFor:
    case TokenKind::KeywordScan:
      return ForStatement(body);
    case TokenKind::KeywordIf:
      return IfStatement(body);
    case TokenKind::KeywordLet:
      return LetStatement(body);
    case TokenKind::KeywordLocal:
      return LocalStatement(body);
    case TokenKind::Tensor:
      return AssignStatement(body);
    case TokenKind::LeftParen:
      return TopKStatement(body);
    default:
      Unexpected("a statement: `for`, `scan`, `if`, `let`, `local`, an element or a pair of them");
  }
}

/// A block, or one statement.
std::vector<StmtId> Parser::Body() {
  std::vector<StmtId> body;
  Scope scope(*this);
  if (panicking_ || At(TokenKind::LeftBrace)) {
    BlockAfterHeader([&] { Statement(body); });
  } else {
    Statement(body);
  }
  return body;
}

void Parser::ForStatement(std::vector<StmtId>& body) {
  const Token& word = Take();
  uint32_t begin = word.range.begin;
  Scope scope(*this);
  For loop;
  loop.sequential = word.kind == TokenKind::KeywordScan;
  loop.axes = Axes();
  loop.body = Body();
  body.push_back(module_->AddStmt(std::move(loop), RangeFrom(begin)));
}

void Parser::IfStatement(std::vector<StmtId>& body) {
  uint32_t begin = Take().range.begin;
  If branch;
  Expect(TokenKind::LeftParen);
  branch.condition = Expression();
  Expect(TokenKind::RightParen);
  branch.body = Body();
  if (At(TokenKind::KeywordElse)) {
    branch.else_range = Take().range;
    branch.otherwise = Body();
  }
  body.push_back(module_->AddStmt(std::move(branch), RangeFrom(begin)));
}

void Parser::LetStatement(std::vector<StmtId>& body) {
  uint32_t begin = Take().range.begin;
  if (At(TokenKind::LeftParen)) {
    return LetPairStatement(body, begin);
  }
  Token name = Expect(TokenKind::Name);
  Expect(TokenKind::Equal);
  Let let;
  let.value = Expression();
  let.symbol = Declare(name, SymbolKind::Let);
  ExpectSemicolon();
  body.push_back(module_->AddStmt(let, RangeFrom(begin)));
}

/// `let (v, i) = argmax(k: n) x;`
void Parser::LetPairStatement(std::vector<StmtId>& body, uint32_t begin) {
  Expect(TokenKind::LeftParen);
  Token value = Expect(TokenKind::Name);
  Expect(TokenKind::Comma);
  Token index = Expect(TokenKind::Name);
  Expect(TokenKind::RightParen);
  Expect(TokenKind::Equal);
  LetPair pair;
  pair.reduction = Expression();
  pair.value = Declare(value, SymbolKind::Let);
  pair.index = Declare(index, SymbolKind::Let);
  ExpectSemicolon();
  body.push_back(module_->AddStmt(pair, RangeFrom(begin)));
}

void Parser::LocalStatement(std::vector<StmtId>& body) {
  uint32_t begin = Take().range.begin;
  Token name = Expect(TokenKind::Tensor);
  Expect(TokenKind::Colon);
  TensorId tensor = Declare(name, Type(name, TensorKind::Local));
  ExpectSemicolon();
  body.push_back(module_->AddStmt(LocalDecl{tensor}, RangeFrom(begin)));
}

void Parser::AssignStatement(std::vector<StmtId>& body) {
  uint32_t begin = Here();
  Assign assign;
  Token name = Take();
  assign.tensor = FindTensor(name);
  assign.peer = OptionalPeer();
  assign.indices = Indices();
  assign.adds = Accept(TokenKind::PlusEqual);
  if (!assign.adds) {
    Expect(TokenKind::Equal);
  }
  assign.value = Expression();
  ExpectSemicolon();
  body.push_back(module_->AddStmt(std::move(assign), RangeFrom(begin)));
}

/// `(%v[s], %i[s]) = topk(s: 8; e: n) x;`: the rank's variable is known in the elements before it,
/// so the part behind `topk` is read first.
void Parser::TopKStatement(std::vector<StmtId>& body) {
  uint32_t begin = Here();
  size_t elements = pos_;
  TopK topk;
  Scope scope(*this);
  pos_ = BehindBracket(pos_);
  Expect(TokenKind::Equal);
  Expect(TokenKind::KeywordTopK);
  Expect(TokenKind::LeftParen);
  {
    Scope axis_scope(*this);
    topk.rank = OneAxis();
  }
  Expect(TokenKind::Semicolon);
  {
    Scope axis_scope(*this);
    topk.axis = OneAxis();
    Expect(TokenKind::RightParen);
    topk.body = Expression();
  }
  ExpectSemicolon();
  if (panicking_) {
    return;
  }
  size_t end = pos_;
  pos_ = elements;
  const Symbol& rank = module_->symbols[topk.rank.var];
  names_.scalars.Declare(rank.name, topk.rank.var, rank.range);
  Expect(TokenKind::LeftParen);
  std::tie(topk.values, topk.value_indices) = Element();
  Expect(TokenKind::Comma);
  std::tie(topk.positions, topk.position_indices) = Element();
  Expect(TokenKind::RightParen);
  pos_ = end;
  body.push_back(module_->AddStmt(std::move(topk), RangeFrom(begin)));
}

}  // namespace etc
