// What is said of ranks: the mesh, peers, and what is divided or symmetric.
#include <fmt/format.h>

#include <algorithm>

#include "text/parser_impl.h"

namespace etc {

/// `mesh tp = 1, 2, 4, 8;`, of which the word is one here only. From here on `rank` is known, too.
void Parser::MeshItem() {
  SourceRange word = Take().range;
  Token name = Expect(TokenKind::Name);
  Expect(TokenKind::Equal);
  Mesh mesh;
  uint32_t begin = Here();
  do {
    mesh.values.push_back(Expect(TokenKind::Int).int_value);
  } while (Accept(TokenKind::Comma));
  mesh.range = RangeFrom(begin);
  ExpectSemicolon();
  if (panicking_) {
    return;
  }
  if (module_->mesh) {
    diagnostics_.Error(DiagnosticKind::Mesh, word, "a program has one mesh")
        .notes.push_back({module_->symbols[module_->mesh->size].range, "the first one is here"});
    return;
  }
  Symbol symbol{std::string(name.text), SymbolKind::Dim, name.range, {}, {}, {}, {}};
  symbol.lo = module_->AddExpr(IntLiteral{mesh.values.front()}, mesh.range);
  symbol.hi = module_->AddExpr(IntLiteral{mesh.values.back()}, mesh.range);
  sizes_.resize(module_->exprs.size());
  mesh.size = DeclareSymbol(name, std::move(symbol));
  module_->items.emplace_back(mesh.size);
  if (const auto* first = names_.scalars.Declare("rank", module_->rank, word)) {
    Token rank;
    rank.text = "rank";
    rank.range = word;
    Duplicate("", rank, first->range);
  }
  module_->mesh = std::move(mesh);
}

/// `[t: n, 4]`: an axis without a name has an empty token. Of `shard n` each rank has a part, of
/// `shard n in p` one of so many.
std::vector<ExprId> Parser::Extents(std::vector<Token>& names, Tensor& tensor) {
  std::vector<ExprId> extents;
  Expect(TokenKind::LeftBracket);
  List(TokenKind::RightBracket, [&] {
    names.push_back(OptionalIndexName());
    TokenKind next = Peek(1).kind;
    if (!AtWord("shard") ||
        (next != TokenKind::Name && next != TokenKind::Int && next != TokenKind::LeftParen)) {
      extents.push_back(BracketedExpression());
      return;
    }
    SourceRange word = Take().range;
    ExprId all = BracketedExpression();
    ExprId parts = Accept(TokenKind::KeywordIn) ? BracketedExpression() : ExprId{};
    if (panicking_ || !MayShard(word, tensor)) {
      return;
    }
    tensor.shard = extents.size();
    tensor.in_parts = bool(parts);
    parts = parts ? parts : Add(SymbolRef{module_->mesh->size}, word.begin);
    extents.push_back(Add(Binary{BinaryOp::Div, all, parts}, word.begin));
  });
  return extents;
}

bool Parser::MayShard(SourceRange word, const Tensor& tensor) {
  const char* why = !module_->mesh ? "`shard` divides an axis among the ranks of a mesh, and the "
                                     "program has none"
                    : tensor.shard ? "one axis of a tensor is divided among the ranks"
                                   : nullptr;
  if (why != nullptr) {
    diagnostics_.Error(DiagnosticKind::Mesh, word, why);
  }
  return why == nullptr;
}

/// `symmetric`, a word in front of a tensor's type and of an event's name only.
bool Parser::AcceptSymmetric() {
  if (!AtWord("symmetric")) {
    return false;
  }
  ReachPeers(Take().range);
  return true;
}

/// What reaches peers stands behind the mesh.
void Parser::ReachPeers(SourceRange range) {
  if (!module_->mesh && !panicking_) {
    diagnostics_.Error(DiagnosticKind::Mesh, range,
                       "a peer is another rank of a mesh, and none is declared here");
  }
}

/// `@(r)`, or nothing.
ExprId Parser::OptionalPeer() {
  uint32_t begin = Here();
  if (!Accept(TokenKind::AtParen)) {
    return {};
  }
  ExprId peer = Expression();
  Expect(TokenKind::RightParen);
  ReachPeers(RangeFrom(begin));
  return peer;
}

}  // namespace etc
