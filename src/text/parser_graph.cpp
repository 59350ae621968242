// Nodes of graph functions, and what kernels share with them.
#include "text/parser_impl.h"

namespace etc {

ScheduleKind Parser::ScheduleWord() {
  if (Accept(TokenKind::KeywordStatic)) {
    return ScheduleKind::Static;
  }
  if (Peek().text == "drain") {  // a word here and behind `dispatch` only
    Take();
    return ScheduleKind::Drain;
  }
  if (Accept(TokenKind::KeywordDynamic)) {
    return ScheduleKind::Dynamic;
  }
  if (Accept(TokenKind::KeywordKernels)) {
    return ScheduleKind::Kernels;
  }
  if (!Accept(TokenKind::KeywordAuto)) {
    Unexpected("`static`, `drain`, `dynamic`, `kernels` or `auto`");
  }
  return ScheduleKind::Auto;
}

std::optional<ScheduleKind> Parser::OptionalSchedule() {
  if (!Accept(TokenKind::KeywordSchedule)) {
    return std::nullopt;
  }
  Expect(TokenKind::LeftParen);
  ScheduleKind schedule = ScheduleWord();
  Expect(TokenKind::RightParen);
  return schedule;
}

std::vector<Specialisation> Parser::OptionalSpecialise() {
  std::vector<Specialisation> specialisations;
  if (!Accept(TokenKind::KeywordSpecialise)) {
    return specialisations;
  }
  Expect(TokenKind::LeftParen);
  do {
    Specialisation& specialisation = specialisations.emplace_back();
    specialisation.range = Peek().range;
    specialisation.dim = ExpectScalar();
    Expect(TokenKind::Colon);
    do {
      auto [lo, hi] = Interval();
      specialisation.ranges.push_back({lo, hi});
    } while (Accept(TokenKind::Comma));
  } while (Accept(TokenKind::Semicolon));
  Expect(TokenKind::RightParen);
  return specialisations;
}

std::vector<Where> Parser::OptionalWhere() {
  std::vector<Where> ranges;
  if (!Accept(TokenKind::KeywordWhere)) {
    return ranges;
  }
  Expect(TokenKind::LeftParen);
  do {
    Where& where = ranges.emplace_back();
    where.dim = ExpectScalar();
    Expect(TokenKind::KeywordIn);
    std::tie(where.lo, where.hi) = Interval();
  } while (Accept(TokenKind::Comma));
  Expect(TokenKind::RightParen);
  return ranges;
}

void Parser::GraphNode(std::vector<NodeId>& body) {
  Nesting nesting(*this);
  if (!nesting.ok) {
    return;
  }
  switch (Peek().kind) {
    case TokenKind::Tensor:
      return BufferNode(body);
    case TokenKind::KeywordEvent:
      return EventNode(body);
    case TokenKind::KeywordCall:
      return CallStatement(body);
    case TokenKind::KeywordRepeat:
      return RepeatNode(body, &Parser::GraphNode);
    case TokenKind::KeywordRegion:
      return RegionNode(body);
    default:
      Unexpected("a buffer, `event`, `call`, `repeat` or `region`");
  }
}

void Parser::BufferNode(std::vector<NodeId>& body) {
  uint32_t begin = Here();
  Token name = Take();
  Expect(TokenKind::Equal);
  Expect(TokenKind::KeywordBuffer);
  bool symmetric = AcceptSymmetric();
  Tensor buffer = Type(name, TensorKind::Buffer);
  buffer.symmetric = symmetric;
  TensorId tensor = Declare(name, std::move(buffer));
  ExpectSemicolon();
  body.push_back(module_->AddNode(BufferDecl{tensor}, RangeFrom(begin)));
}

Realisation Parser::RealisationWord() {
  if (AcceptWord("none")) {
    return Realisation::None;
  }
  if (AcceptWord("words")) {
    return Realisation::Words;
  }
  if (Accept(TokenKind::KeywordShared)) {
    return Realisation::Shared;
  }
  Expect(TokenKind::KeywordCounter);
  return Realisation::Counter;
}

void Parser::EventNode(std::vector<NodeId>& body) {
  Token word = Take();
  uint32_t begin = word.range.begin;
  Event event;
  event.trigger = word.kind != TokenKind::KeywordEvent;
  event.symmetric = AcceptSymmetric();
  Token name = Expect(TokenKind::Tensor);
  event.name = name.text;
  event.range = name.range;
  {
    Scope scope(*this);
    if (Accept(TokenKind::LeftBracket)) {
      List(TokenKind::RightBracket, [&] {
        EventDim dim;
        Token var = OptionalIndexName();
        dim.extent = Expression();
        if (!var.text.empty()) {
          dim.var = Declare(var, SymbolKind::Index);
        }
        event.dims.push_back(dim);
      });
    }
    Expect(TokenKind::KeywordCount);
    event.count = Expression();
  }
  if (Accept(TokenKind::KeywordVia)) {
    event.realisation = RealisationWord();
    event.first =
        HasCounters(event.realisation) && Accept(TokenKind::KeywordAt) ? Expression() : ExprId{};
  }
  EventId id = Declare(name, std::move(event));
  ExpectSemicolon();
  body.push_back(module_->AddNode(EventDecl{id}, RangeFrom(begin)));
}

void Parser::CallStatement(std::vector<NodeId>& body) {
  uint32_t begin = Take().range.begin;
  CallNode call;
  Token callee = Expect(TokenKind::Function);
  std::optional<Callable> callable = callee.text.empty() ? std::nullopt : FindCallable(callee);
  if (callable && std::holds_alternative<GraphId>(*callable)) {
    call.graph = std::get<GraphId>(*callable);
  } else if (callable) {
    call.callee = std::get<DeviceId>(*callable);
  }
  call.generics = OptionalGenericArgs();
  call.pins = OptionalPins();
  call.args = Arguments(call.scalars);
  call.schedule = OptionalSchedule();
  while (At(TokenKind::KeywordWait) || At(TokenKind::KeywordNotify)) {
    bool wait = Take().kind == TokenKind::KeywordWait;
    (wait ? call.waits : call.notifies).push_back(OneEdge());
  }
  ExpectSemicolon();
  body.push_back(module_->AddNode(std::move(call), RangeFrom(begin)));
}

void Parser::RepeatNode(std::vector<NodeId>& body, void (Parser::*node)(std::vector<NodeId>&)) {
  uint32_t begin = Take().range.begin;
  Scope scope(*this);
  Repeat repeat;
  Token var = Expect(TokenKind::Name);
  Expect(TokenKind::KeywordIn);
  std::tie(repeat.lo, repeat.hi) = Interval();
  repeat.var = Declare(var, SymbolKind::RepeatVar);
  BlockAfterHeader([&] { (this->*node)(repeat.body); });
  body.push_back(module_->AddNode(std::move(repeat), RangeFrom(begin)));
}

void Parser::RegionNode(std::vector<NodeId>& body) {
  uint32_t begin = Here();
  Take();
  Scope scope(*this);
  Region region{};
  if (!At(TokenKind::KeywordSchedule)) {
    Unexpected(Describe(TokenKind::KeywordSchedule));
  }
  region.schedule = OptionalSchedule().value_or(ScheduleKind::Auto);
  BlockAfterHeader([&] { GraphNode(region.body); });
  body.push_back(module_->AddNode(std::move(region), RangeFrom(begin)));
}

std::vector<Argument> Parser::Arguments(std::vector<ExprId>& scalars) {
  std::vector<Argument> args;
  Expect(TokenKind::LeftParen);
  List(TokenKind::RightParen, [&] {
    if (!scalars.empty() && At(TokenKind::Tensor)) {
      return Unexpected("the value of a scalar, as tensors come first");
    }
    if (!At(TokenKind::Tensor)) {
      scalars.push_back(Expression());
      return;
    }
    args.push_back(OneArgument());
  });
  return args;
}

/// `%x`, or `%x[l]`.
Argument Parser::OneArgument() {
  uint32_t begin = Here();
  Argument arg;
  Token name = Expect(TokenKind::Tensor);
  if (!name.text.empty()) {
    arg.tensor = FindTensor(name);
  }
  if (At(TokenKind::LeftBracket)) {
    arg.indices = SliceIndices();
  }
  arg.range = RangeFrom(begin);
  return arg;
}

/// `<N = 64, eps = 1e-6>`, or nothing.
std::vector<GenericArg> Parser::OptionalGenericArgs() {
  std::vector<GenericArg> generics;
  if (!Accept(TokenKind::Less)) {
    return generics;
  }
  do {
    Token name = Expect(TokenKind::Name);
    GenericArg arg{std::string(name.text), {}, name.range};
    Expect(TokenKind::Equal);
    no_greater_ = true;
    arg.value = Expression();
    no_greater_ = false;
    generics.push_back(std::move(arg));
  } while (Accept(TokenKind::Comma));
  Expect(TokenKind::Greater);
  return generics;
}

/// `[*, l]`: an axis in front of an index may stay free; those behind the last one do by
/// themselves.
std::vector<ExprId> Parser::SliceIndices() {
  std::vector<ExprId> indices;
  Expect(TokenKind::LeftBracket);
  List(TokenKind::RightBracket,
       [&] { indices.push_back(Accept(TokenKind::Star) ? ExprId{} : BracketedExpression()); });
  while (!indices.empty() && !indices.back()) {
    indices.pop_back();
  }
  return indices;
}

Edge Parser::OneEdge() {
  Scope scope(*this);
  Edge edge;
  Expect(TokenKind::LeftParen);
  List(TokenKind::RightParen,
       [&] { edge.coords.push_back(Declare(Expect(TokenKind::Name), SymbolKind::Index)); });
  Expect(TokenKind::Arrow);
  do {
    edge.refs.push_back(Ref());
  } while (Accept(TokenKind::Comma));
  return edge;
}

/// `%e@(r)[i, s] for (s: 8)`: the axes are known in the peer and in the indices before them, so
/// they are read first.
EventRef Parser::Ref() {
  Scope scope(*this);
  uint32_t begin = Here();
  EventRef ref;
  Token name = Expect(TokenKind::Tensor);
  if (!name.text.empty()) {
    ref.event = FindEvent(name);
  }
  size_t place = pos_;
  for (TokenKind open : {TokenKind::AtParen, TokenKind::LeftBracket}) {
    pos_ = At(open) ? BehindBracket(pos_) : pos_;
  }
  bool indexed = pos_ != place;
  if (Accept(TokenKind::KeywordFor)) {
    ref.axes = Axes();
  }
  if (indexed && !panicking_) {
    size_t behind = pos_;
    pos_ = place;
    ref.peer = OptionalPeer();
    if (At(TokenKind::LeftBracket)) {
      ref.indices = EventIndices();
    }
    pos_ = panicking_ ? pos_ : behind;
  }
  if (Accept(TokenKind::KeywordIf)) {
    ref.guard = Expression();
  }
  ref.range = RangeFrom(begin);
  return ref;
}

std::vector<EventIndex> Parser::EventIndices() {
  std::vector<EventIndex> indices;
  Expect(TokenKind::LeftBracket);
  List(TokenKind::RightBracket, [&] {
    EventIndex index;
    if (Accept(TokenKind::Star)) {
      index.all = true;
    } else {
      index.lo = Expression();
      if (Accept(TokenKind::DotDot)) {
        index.hi = Expression();
      }
    }
    indices.push_back(index);
  });
  return indices;
}

}  // namespace etc
