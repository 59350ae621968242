// Expressions, axes and intervals.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/walk.h"
#include "text/parser_impl.h"
#include "text/words.h"

namespace etc {
namespace {

constexpr int kMaxHeight = 1000;       // all passes recurse: support/stack.h has room for it
constexpr int64_t kMaxParts = 100000;  // each is looked at as often as passes look
constexpr int kProduct = 10;  // the precedence of `*`: how far the body of a reduction extends

std::optional<Reduction> ReductionOf(std::string_view name) {
#define ETC_REDUCTION(op, spelling) \
  if (name == spelling) {           \
    return Reduction::op;           \
  }
#include "ir/ops.def"
  return std::nullopt;
}

std::optional<Intrinsic> IntrinsicOf(std::string_view name) {
#define ETC_INTRINSIC(op, spelling, arity, kind, value) \
  if (name == spelling) {                               \
    return Intrinsic::op;                               \
  }
#include "ir/ops.def"
  return std::nullopt;
}

}  // namespace

ExprId Parser::Add(Expr expr, uint32_t begin) {
  ExprSize size;
  VisitOperands(expr, [&](ExprId operand) {
    size.height = std::max(size.height, SizeOf(operand).height + 1);
    size.parts += SizeOf(operand).parts;
  });
  if (const auto* ref = std::get_if<SymbolRef>(&expr)) {
    const Symbol& symbol = module_->symbols[ref->symbol];
    if (symbol.kind == SymbolKind::Let && symbol.value) {
      size.parts += SizeOf(symbol.value).parts;
    }
  }
  return Add(std::move(expr), begin, size);
}

ExprId Parser::Add(Expr expr, uint32_t begin, ExprSize size) {
  if (size.height > kMaxHeight) {
    Panic(DiagnosticKind::NestingTooDeep, RangeFrom(begin),
          fmt::format("an expression of more than {} levels; name a part of it with `let`, and add "
                      "many terms with `sum`",
                      kMaxHeight));
  } else if (IsTooLarge(size, begin)) {
    expr = IntLiteral{0};
    size = {};
  }
  ExprId id = module_->AddExpr(std::move(expr), RangeFrom(begin));
  sizes_.resize(module_->exprs.size());
  sizes_[id.value] = size;
  return id;
}

bool Parser::IsTooLarge(ExprSize size, uint32_t begin) {
  if (size.parts <= kMaxParts) {
    return false;
  }
  diagnostics_.Error(DiagnosticKind::NestingTooDeep, RangeFrom(begin),
                     fmt::format("an expression of more than {} operations and operands, counted "
                                 "with what `let` and `fn` stand for",
                                 kMaxParts));
  return true;
}

std::optional<BinaryOp> Parser::OperatorHere() const {
  const Token& token = Peek();
  if (token.kind == TokenKind::Tensor) {
    return BinaryOp::Mod;  // `i %n`: after an operand, `%` is the operator
  }
#define ETC_BINARY(name, spelling, precedence) \
  if (token.text == spelling) {                \
    return BinaryOp::name;                     \
  }
#include "ir/ops.def"
  return std::nullopt;
}

ExprId Parser::Expression(int least_precedence) {
  uint32_t begin = Here();
  ExprId left = Operand();
  while (std::optional<BinaryOp> op = OperatorHere()) {
    bool greater = *op == BinaryOp::Gt || *op == BinaryOp::Ge || *op == BinaryOp::Shr;
    bool closes = no_greater_ && greater;
    if (Precedence(*op) < least_precedence || closes) {
      break;
    }
    if (At(TokenKind::Tensor)) {
      Token& name = tokens_[pos_];
      name.kind = TokenKind::Name;
      ++name.range.begin;
    } else {
      Take();
    }
    ExprId right = Expression(Precedence(*op) + 1);
    left = Add(Binary{*op, left, right}, begin);
  }
  return left;
}

/// Inside brackets of any kind, a `>` is an operator again.
ExprId Parser::BracketedExpression() {
  bool outer = no_greater_;
  no_greater_ = false;
  ExprId id = Expression();
  no_greater_ = outer;
  return id;
}

ExprId Parser::Operand() {
  Nesting nesting(*this);
  uint32_t begin = Here();
  if (!nesting.ok) {
    return Add(IntLiteral{0}, begin);
  }
  for (auto [token, op] : {std::pair{TokenKind::Minus, UnaryOp::Neg},
                           {TokenKind::Bang, UnaryOp::Not},
                           {TokenKind::Tilde, UnaryOp::BitNot}}) {
    if (Accept(token)) {
      ExprId operand = Operand();
      return Add(Unary{op, operand}, begin);
    }
  }
  return Primary();
}

ExprId Parser::Primary() {
  uint32_t begin = Here();
  const Token& token = Peek();
  switch (token.kind) {
    case TokenKind::Int:
      Take();
      return Add(IntLiteral{token.int_value}, begin);
    case TokenKind::Float:
      Take();
      return Add(FloatLiteral{token.float_value}, begin);
    case TokenKind::KeywordInf:
      Take();
      return Add(FloatLiteral{std::numeric_limits<double>::infinity()}, begin);
    case TokenKind::KeywordTrue:
    case TokenKind::KeywordFalse:
      Take();
      return Add(BoolLiteral{token.kind == TokenKind::KeywordTrue}, begin);
    case TokenKind::LeftParen: {
      Take();
      ExprId inner = BracketedExpression();
      Expect(TokenKind::RightParen);
      return inner;
    }
    case TokenKind::Tensor: {
      auto [tensor, indices] = Element();
      return Add(Load{tensor, std::move(indices)}, begin);
    }
    case TokenKind::Name:
      return NamedOperand();
    default:
      Unexpected("an expression");
      return Add(IntLiteral{0}, begin);
  }
}

ExprId Parser::NamedOperand() {
  uint32_t begin = Here();
  Token name = Take();
  if (!At(TokenKind::LeftParen)) {
    SymbolId symbol = FindScalar(name);
    return Add(SymbolRef{symbol}, begin);
  }
  if (const auto* function = names_.functions.Find(name.text)) {
    return Apply(function->value, begin);
  }
  std::optional<Reduction> reduction = ReductionOf(name.text);
  std::optional<Intrinsic> intrinsic = IntrinsicOf(name.text);
  bool axes = Peek(1).kind == TokenKind::Name && Peek(2).kind == TokenKind::Colon;
  if (reduction && (axes || !intrinsic)) {
    return Reducing(*reduction, begin);
  }
  if (intrinsic) {
    return IntrinsicCall(*intrinsic, begin);
  }
  if (std::optional<DType> type = ParseDType(name.text)) {
    Take();
    ExprId operand = BracketedExpression();
    Expect(TokenKind::RightParen);
    return Add(Cast{*type, operand}, begin);
  }
  if (import_absent_) {
    return ApplyAssumed(name, begin);
  }
  Panic(DiagnosticKind::UnknownName, name.range,
        fmt::format("no function `{}` is known in expressions", name.text),
        {DefinedOutOfReach("", name.text).value_or(KnownWords(name.text, KnownFunctions()))});
  return Add(IntLiteral{0}, begin);
}

std::vector<std::string_view> Parser::KnownFunctions() const {
  std::vector<std::string_view> known = FunctionWords();
  for (const Function& function : module_->functions) {
    if (names_.functions.Find(function.name) != nullptr) {
      known.push_back(function.name);
    }
  }
  std::sort(known.begin(), known.end());
  return known;
}

ExprId Parser::Reducing(Reduction op, uint32_t begin) {
  Scope scope(*this);
  bool outer = no_greater_;
  no_greater_ = false;
  std::vector<Axis> axes = Axes();
  no_greater_ = outer;
  Nesting nesting(*this);
  ExprId body = nesting.ok ? Expression(kProduct) : Add(IntLiteral{0}, begin);
  return Add(Reduce{op, std::move(axes), body}, begin);
}

ExprId Parser::IntrinsicCall(Intrinsic op, uint32_t begin) {
  Expect(TokenKind::LeftParen);
  Call call{op, {}};
  List(TokenKind::RightParen, [&] { call.args.push_back(BracketedExpression()); });
  auto arity = static_cast<size_t>(Arity(op));
  if (!panicking_ && call.args.size() != arity) {
    diagnostics_.Error(DiagnosticKind::Syntax, RangeFrom(begin),
                       fmt::format("`{}` takes {} argument{}, found {}", Spelling(op), arity,
                                   arity == 1 ? "" : "s", call.args.size()));
  }
  return Add(std::move(call), begin);
}

std::vector<ExprId> Parser::Indices() {
  std::vector<ExprId> indices;
  Expect(TokenKind::LeftBracket);
  List(TokenKind::RightBracket, [&] { indices.push_back(BracketedExpression()); });
  return indices;
}

std::pair<TensorId, std::vector<ExprId>> Parser::Element() {
  Token name = Expect(TokenKind::Tensor);
  TensorId tensor = name.text.empty() ? TensorId{} : FindTensor(name);
  uint32_t begin = Here();
  if (OptionalPeer() && !panicking_) {
    diagnostics_.Error(DiagnosticKind::Peer, RangeFrom(begin),
                       "a task writes elements of a peer, and reads those of its own rank only");
  }
  return {tensor, Indices()};
}

/// `i: hi` or `i: lo .. hi`. The variable is declared after its own bounds.
Axis Parser::OneAxis() {
  Token name = Expect(TokenKind::Name);
  Expect(TokenKind::Colon);
  Axis axis;
  axis.hi = BracketedExpression();
  if (Accept(TokenKind::DotDot)) {
    axis.lo = axis.hi;
    axis.hi = BracketedExpression();
  }
  axis.var = Declare(name, SymbolKind::Index);
  return axis;
}

std::vector<Axis> Parser::Axes() {
  std::vector<Axis> axes;
  Expect(TokenKind::LeftParen);
  do {
    axes.push_back(OneAxis());
  } while (Accept(TokenKind::Comma));
  Expect(TokenKind::RightParen);
  return axes;
}

std::pair<ExprId, ExprId> Parser::Interval() {
  ExprId lo = Expression();
  Expect(TokenKind::DotDot);
  ExprId hi = Expression();
  return {lo, hi};
}

}  // namespace etc
