// The top level: constants, dimensions, and the heads of functions.
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

SourceRange Parser::Header() {
  uint32_t begin = Here();
  if (!At(TokenKind::KeywordEtir)) {
    Unexpected("`etir 1;`");
    panicking_ = false;
    return {};
  }
  Take();
  Token version = Expect(TokenKind::Int);
  if (version.kind == TokenKind::Int && version.int_value != 1) {
    diagnostics_.Error(DiagnosticKind::Version, version.range,
                       fmt::format("the text is of version {}, expected version 1", version.text));
    pos_ = tokens_.size() - 1;  // what follows is of another language
    return {};
  }
  ExpectSemicolon();
  SourceRange header = RangeFrom(begin);
  if (panicking_) {
    Recover(pos_);
  }
  return header;
}

void Parser::Item() {
  switch (Peek().kind) {
    case TokenKind::KeywordImport:
      return ImportItem();
    case TokenKind::KeywordConst:
      return Const();
    case TokenKind::KeywordLet:
      return LetItem();
    case TokenKind::KeywordFn:
      return FunctionItem();
    case TokenKind::KeywordDim:
      return Dim();
    case TokenKind::KeywordRequire:
      return RequireItem();
    case TokenKind::KeywordDevice:
      return DeviceItem();
    case TokenKind::KeywordGraph:
      return GraphItem();
    case TokenKind::KeywordKernel:
      return KernelItem();
    default:
      if (AtWord("mesh")) {
        return MeshItem();
      }
      Unexpected("`import`, `const`, `dim`, `require`, `let`, `fn`, `device`, `graph` or `kernel`");
  }
}

void Parser::Const() {
  Take();
  Token name = Expect(TokenKind::Name);
  Expect(TokenKind::Equal);
  Symbol symbol{std::string(name.text), SymbolKind::Const, name.range, {}, {}, {}, {}};
  symbol.value = Expression();
  module_->items.emplace_back(DeclareSymbol(name, std::move(symbol)));
  ExpectSemicolon();
}

/// A name for an expression over constants and dimensions.
void Parser::LetItem() {
  Take();
  Token name = Expect(TokenKind::Name);
  Expect(TokenKind::Equal);
  Symbol symbol{std::string(name.text), SymbolKind::Let, name.range, {}, {}, {}, {}};
  symbol.value = Expression();
  module_->items.emplace_back(DeclareSymbol(name, std::move(symbol)));
  ExpectSemicolon();
}

void Parser::Dim() {
  Take();
  Token name = Expect(TokenKind::Name);
  Expect(TokenKind::KeywordIn);
  Symbol symbol{std::string(name.text), SymbolKind::Dim, name.range, {}, {}, {}, {}};
  std::tie(symbol.lo, symbol.hi) = Interval();
  if (Accept(TokenKind::KeywordMultiple)) {
    symbol.multiple = Expression();
  }
  module_->items.emplace_back(DeclareSymbol(name, std::move(symbol)));
  ExpectSemicolon();
}

void Parser::RequireItem() {
  Take();
  module_->items.emplace_back(Require{Expression()});
  ExpectSemicolon();
}

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
  tensor.sources.emplace_back(Expect(TokenKind::String).text);
  while (At(TokenKind::Name) && Peek().text == "or") {
    Take();
    tensor.sources.emplace_back(Expect(TokenKind::String).text);
  }
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

void Parser::DeviceItem() {
  Take();
  Token name = Expect(TokenKind::Function);
  Device device;
  device.name = name.text;
  device.range = name.range;
  {
    Scope scope(*this);
    device.generics = OptionalGenerics();
    device.params = Params(&device.scalars);
    Expect(TokenKind::KeywordTasks);
    device.tasks = Axes();
    device.braces = BlockAfterHeader([&] {
      if (At(TokenKind::KeywordImpl) && device.body.empty()) {
        device.impls.push_back(ImplLine());
      } else {
        Statement(device.body);
      }
    });
  }
  DeviceId id = module_->devices.Add(std::move(device));
  module_->items.emplace_back(id);
  if (!name.text.empty()) {
    if (const auto* first = names_.callables.Declare(name.text, id, name.range)) {
      Duplicate("@", name, first->range);
    }
  }
}

Impl Parser::ImplLine() {
  uint32_t begin = Take().range.begin;
  Impl impl;
  impl.arch = ExpectAnyName().text;
  if (Accept(TokenKind::KeywordCuda)) {
    impl.text = Expect(TokenKind::Text).text;
    ExpectSemicolon();
    impl.range = RangeFrom(begin);
    return impl;
  }
  impl.header = Expect(TokenKind::String).text;
  impl.name = Expect(TokenKind::Name).text;
  if (Accept(TokenKind::Less)) {
    do {
      impl.args.push_back(OneImplArg());
    } while (Accept(TokenKind::Comma));
    Expect(TokenKind::Greater);
  }
  impl.preloaded = Operands(TokenKind::KeywordPreloaded);
  impl.flagged = Operands(TokenKind::KeywordFlagged);
  ExpectSemicolon();
  impl.range = RangeFrom(begin);
  return impl;
}

/// `preloaded (%w)`, or nothing.
std::vector<TensorId> Parser::Operands(TokenKind keyword) {
  std::vector<TensorId> operands;
  if (Accept(keyword)) {
    Expect(TokenKind::LeftParen);
    do {
      Token tensor = Expect(TokenKind::Tensor);
      if (!tensor.text.empty()) {
        operands.push_back(FindTensor(tensor));
      }
    } while (Accept(TokenKind::Comma));
    Expect(TokenKind::RightParen);
  }
  return operands;
}

ImplArg Parser::OneImplArg() {
  ImplArg arg;
  arg.name = ExpectAnyName().text;
  Expect(TokenKind::Equal);
  if (At(TokenKind::Word)) {
    arg.word = Take().text;
    return arg;
  }
  no_greater_ = true;
  arg.value = Expression();
  no_greater_ = false;
  return arg;
}

void Parser::GraphItem() {
  Take();
  Token name = Expect(TokenKind::Function);
  Graph graph;
  graph.name = name.text;
  graph.range = name.range;
  {
    Scope scope(*this);
    graph.generics = OptionalGenerics();
    // What a generic graph is called with are its caller's tensors.
    graph.params = Params(nullptr, true, graph.generics.empty());
    if (Accept(TokenKind::KeywordOf)) {
      graph.of = Expect(TokenKind::Function).text;
    }
    graph.schedule = OptionalSchedule();
    graph.where = OptionalWhere();
    graph.specialisations =
        graph.where.empty() ? OptionalSpecialise() : std::vector<Specialisation>{};
    graph.braces = BlockAfterHeader([&] {
      if (AtWord("alternative") && graph.body.empty()) {
        AlternativeNode(graph);
      } else if (!graph.alternatives.empty()) {
        Unexpected("`alternative`, as a graph has alternatives or nodes");
      } else {
        GraphNode(graph.body);
      }
    });
  }
  GraphId id = module_->graphs.Add(std::move(graph));
  module_->items.emplace_back(id);
  if (!name.text.empty()) {
    if (const auto* first = names_.callables.Declare(name.text, id, name.range)) {
      Duplicate("@", name, first->range);
    }
  }
}

}  // namespace etc
