// The top level: constants, dimensions, and the heads of functions.
#include <fmt/format.h>

#include "text/parser_impl.h"

namespace etc {

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
      if (AtWord("config")) {
        return ConfigItem();
      }
      Unexpected(
          "`import`, `config`, `const`, `dim`, `mesh`, `require`, `let`, `fn`, `device`, `graph` "
          "or "
          "`kernel`");
  }
}

void Parser::Const() {
  Take();
  Token name = Expect(TokenKind::Name);
  std::optional<Choice> choice;
  if (Accept(TokenKind::Colon)) {
    choice = Choice{ChosenValues(), {}};
  }
  Expect(TokenKind::Equal);
  Symbol symbol{std::string(name.text), SymbolKind::Const, name.range, {}, {}, {}, {}};
  symbol.value = Expression();
  SymbolId id = DeclareSymbol(name, std::move(symbol));
  module_->items.emplace_back(id);
  if (choice) {
    module_->choices[id] = std::move(*choice);
  }
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

void Parser::ConfigItem() {
  Take();
  Token name = Expect(TokenKind::Name);
  module_->items.emplace_back(
      module_->config_members.Add({std::string(name.text), Strings(), name.range}));
  ExpectSemicolon();
}

/// `"lm_head.weight" or "embed.weight"`.
std::vector<std::string> Parser::Strings() {
  std::vector<std::string> strings;
  strings.emplace_back(Expect(TokenKind::String).text);
  while (AtWord("or")) {
    Take();
    strings.emplace_back(Expect(TokenKind::String).text);
  }
  return strings;
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
  impl.preloaded = Operands(Accept(TokenKind::KeywordPreloaded));
  impl.fetched = Operands(AcceptWord("fetched"));
  impl.flagged = Operands(Accept(TokenKind::KeywordFlagged));
  if (!impl.flagged.empty() && Accept(TokenKind::KeywordIf)) {
    impl.flagged_if = Expression();
  }
  impl.phased = Operands(AcceptWord("phased"));
  impl.boxes = OptionalBoxes();
  ExpectSemicolon();
  impl.range = RangeFrom(begin);
  return impl;
}

std::vector<TensorId> Parser::Operands(bool word) {
  std::vector<TensorId> operands;
  if (word) {
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

std::vector<Box> Parser::OptionalBoxes() {
  std::vector<Box> boxes;
  if (!AcceptWord("boxes")) {
    return boxes;
  }
  Expect(TokenKind::LeftParen);
  do {
    Token tensor = Expect(TokenKind::Tensor);
    Expect(TokenKind::LeftBracket);
    Box box;
    box.rows = Expression();
    Expect(TokenKind::Comma);
    box.columns = Expression();
    Expect(TokenKind::RightBracket);
    if (!tensor.text.empty()) {
      box.tensor = FindTensor(tensor);
      boxes.push_back(box);
    }
  } while (Accept(TokenKind::Comma));
  Expect(TokenKind::RightParen);
  return boxes;
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
