// Parameters of device functions, graphs and kernels: tensors with their types and layouts,
// scalars, and generic ones.
#include <fmt/format.h>

#include "text/parser_impl.h"
#include "text/words.h"

namespace etc {
namespace {

/// What is said of a tensor that is declared as an array in a place where there is none.
std::string NoArray(const Token& name) {
  return fmt::format(
      "`%{}` is no array of tensors: those are parameters that a launch binds, of a graph without "
      "generic parameters",
      name.text);
}

}  // namespace

Tensor Parser::Type(const Token& name, TensorKind kind, std::vector<Token>* names) {
  Tensor tensor{std::string(name.text), kind, Access::In, DType::F32, {}, {}, {}, {}, name.range};
  const Token& token = Peek();
  if (AtWord("array")) {
    Panic(DiagnosticKind::Array, token.range, NoArray(name));
    return tensor;
  }
  std::optional<DType> type = ParseDType(token.text);
  if (token.kind == TokenKind::Name && !type && !token.after_error) {
    Panic(DiagnosticKind::UnknownName, token.range,
          fmt::format("no element type `{}` is known", token.text),
          {KnownWords(token.text, ElementTypeWords())});
    return tensor;
  }
  if (!type) {
    Unexpected("an element type");
    return tensor;
  }
  Take();
  tensor.type = *type;
  tensor.shape = names == nullptr ? Indices() : Extents(*names, tensor);
  OptionalLayout(tensor);
  return tensor;
}

/// `t:`, or nothing.
Token Parser::OptionalIndexName() {
  if (!At(TokenKind::Name) || Peek(1).kind != TokenKind::Colon) {
    return {};
  }
  Token name = Take();
  Take();
  return name;
}

/// `array[l: n] of`, or nothing. The extent is that of the first axis.
ExprId Parser::OptionalArray(const Token& name, std::vector<Token>& names, bool of_launch) {
  if (!AtWord("array")) {
    return {};
  }
  Token word = Take();
  if (!of_launch) {
    diagnostics_.Error(DiagnosticKind::Array, word.range, NoArray(name));
  }
  Expect(TokenKind::LeftBracket);
  names.push_back(OptionalIndexName());
  ExprId count = BracketedExpression();
  Expect(TokenKind::RightBracket);
  Expect(TokenKind::KeywordOf);
  return count;
}

void Parser::OptionalLayout(Tensor& tensor) {
  if (!Accept(TokenKind::KeywordLayout) || !ExpectWord("tile")) {
    return;
  }
  Expect(TokenKind::LeftParen);
  tensor.tile.push_back(Expression());
  Expect(TokenKind::Comma);
  tensor.tile.push_back(Expression());
  tensor.swizzled = Accept(TokenKind::Comma) && ExpectWord("swizzle");
  Expect(TokenKind::RightParen);
}

/// A name that means something in one place only.
bool Parser::ExpectWord(std::string_view word) {
  if (!At(TokenKind::Name) || Peek().text != word) {
    Unexpected(fmt::format("`{}`", word));
    return false;
  }
  Take();
  return true;
}

TensorId Parser::Param(bool conditional, bool of_launch) {
  Token name = Expect(TokenKind::Tensor);
  Expect(TokenKind::Colon);
  Access access = Accept(TokenKind::KeywordOut)     ? Access::Out
                  : Accept(TokenKind::KeywordInOut) ? Access::InOut
                                                    : Access::In;
  std::vector<Token> names;
  bool symmetric = AcceptSymmetric();
  ExprId count = OptionalArray(name, names, of_launch);
  Tensor tensor = Type(name, TensorKind::Param, &names);
  if (count) {
    tensor.array = true;
    tensor.shape.insert(tensor.shape.begin(), count);
    tensor.shard = tensor.shard ? std::optional(*tensor.shard + 1) : std::nullopt;
  }
  tensor.access = access;
  tensor.symmetric = symmetric;
  Preconditions(tensor, names);
  if (conditional && Accept(TokenKind::KeywordIf)) {
    tensor.present = Expression();
  }
  if (of_launch) {
    Sources(tensor);
  } else if (At(TokenKind::KeywordFrom)) {
    Panic(DiagnosticKind::Source, Peek().range,
          fmt::format("`%{}` is not bound by a launch, so it cannot be a tensor of a checkpoint",
                      name.text));
  }
  if (At(TokenKind::Name)) {
    Unexpected(of_launch ? "`,`, `)`, or `in`, `distinct`, `monotone`, `counts` or `from`"
                         : "`,`, `)`, or `in`, `distinct`, `monotone` or `counts`");
  }
  return Declare(name, std::move(tensor));
}

/// `from "lm_head.weight" or "embed.weight"`, or nothing.
void Parser::Sources(Tensor& tensor) {
  if (!Accept(TokenKind::KeywordFrom)) {
    return;
  }
  tensor.sources.push_back(OneSource());
  while (AtWord("or")) {
    Take();
    tensor.sources.push_back(OneSource());
  }
}

/// `"qkv.{l}.weight"[0..8 of 24, *]` or `"head.weight"[1003 padded]`.
WeightSource Parser::OneSource() {
  const uint32_t begin = Here();
  WeightSource source;
  source.name = Expect(TokenKind::String).text;
  if (Accept(TokenKind::LeftBracket)) {
    do {
      AxisRange range;
      if (!Accept(TokenKind::Star)) {
        ExprId first = Expression();
        if (AcceptWord("padded")) {
          range.extent = first;
        } else if (Accept(TokenKind::DotDot)) {
          range.lo = first;
          range.hi = Expression();
          Expect(TokenKind::KeywordOf);
          range.extent = Expression();
        } else {
          Unexpected("`..` or `padded`");
        }
      }
      source.ranges.push_back(range);
    } while (Accept(TokenKind::Comma));
    Expect(TokenKind::RightBracket);
  }
  source.range = RangeFrom(begin);
  return source;
}

std::vector<TensorId> Parser::Params(std::vector<SymbolId>* scalars, bool conditional,
                                     bool of_launch) {
  std::vector<TensorId> params;
  Expect(TokenKind::LeftParen);
  List(TokenKind::RightParen, [&] {
    if (scalars == nullptr || (scalars->empty() && At(TokenKind::Tensor))) {
      params.push_back(Param(conditional, of_launch));
    } else if (At(TokenKind::Name)) {
      scalars->push_back(ScalarParam());
    } else {
      Unexpected(scalars->empty() ? "a parameter" : "a scalar parameter, as tensors come first");
    }
  });
  return params;
}

/// `l: int in 0..layers if stacked`. The types of scalars are words here only.
SymbolId Parser::ScalarParam() {
  Token name = Take();
  Expect(TokenKind::Colon);
  Symbol symbol{std::string(name.text), SymbolKind::Scalar, name.range, {}, {}, {}, {}};
  std::string_view type = Peek().text;
  if (type == "float") {
    symbol.type = ValueKind::Float;
  } else if (type == "bool") {
    symbol.type = ValueKind::Bool;
  } else if (type != "int") {
    Unexpected("`int`, `float` or `bool`");
  }
  Take();
  if (symbol.type == ValueKind::Int && Accept(TokenKind::KeywordIn)) {
    std::tie(symbol.lo, symbol.hi) = Interval();
  }
  if (Accept(TokenKind::KeywordIf)) {
    symbol.present = Expression();
  }
  return DeclareSymbol(name, std::move(symbol));
}

std::vector<SymbolId> Parser::OptionalGenerics() {
  std::vector<SymbolId> generics;
  if (!Accept(TokenKind::Less)) {
    return generics;
  }
  do {
    generics.push_back(Generic());
  } while (Accept(TokenKind::Comma));
  Expect(TokenKind::Greater);
  return generics;
}

SymbolId Parser::Generic() {
  Token name = Expect(TokenKind::Name);
  Symbol symbol{std::string(name.text), SymbolKind::Generic, name.range, {}, {}, {}, {}};
  no_greater_ = true;
  if (Accept(TokenKind::Colon)) {
    // Known in its own condition.
    SymbolId id = DeclareSymbol(name, std::move(symbol));
    module_->choices[id] = ChoiceOf();
    Expect(TokenKind::Equal);
    module_->symbols[id].value = Expression();
    no_greater_ = false;
    return id;
  }
  if (Accept(TokenKind::Equal)) {
    symbol.value = Expression();
  }
  no_greater_ = false;
  return DeclareSymbol(name, std::move(symbol));
}

}  // namespace etc
