// Scheduled kernels.
#include <fmt/format.h>

#include "ir/walk.h"
#include "text/parser_impl.h"

namespace etc {

void Parser::KernelItem() {
  Take();
  Token name = Expect(TokenKind::Function);
  Kernel kernel;
  kernel.name = name.text;
  kernel.range = name.range;
  {
    Scope scope(*this);
    kernel.params = Params(nullptr, false, true);
    Expect(TokenKind::KeywordOf);
    kernel.graph = Expect(TokenKind::Function).text;
    kernel.schedule = ScheduleWord();
    kernel.where = OptionalWhere();
    KernelBody(kernel);
  }
  KernelId id = module_->kernels.Add(std::move(kernel));
  module_->items.emplace_back(id);
  if (!name.text.empty()) {
    if (const auto* first = names_.kernels.Declare(name.text, id, name.range)) {
      Duplicate("@", name, first->range);
    }
  }
}

void Parser::KernelBody(Kernel& kernel) {
  bool launched = false;
  bool on_sm = false;
  bool on_stream = kernel.schedule == ScheduleKind::Kernels;
  kernel.braces = BlockAfterHeader([&] {
    if (!launched) {
      launched = true;
      Expect(TokenKind::KeywordLaunch);
      Expect(TokenKind::KeywordConsumers);
      kernel.consumer_warps = Expect(TokenKind::Int).int_value;
      Expect(TokenKind::KeywordShared);
      kernel.shared_bytes = Expect(TokenKind::Int).int_value;
      ExpectSemicolon();
    } else if (!kernel.throttle && kernel.declarations.empty() && At(TokenKind::KeywordLoader)) {
      LoaderLine(kernel);
    } else if (kernel.declarations.empty() && !on_sm && Peek().text == "check") {
      CheckLine(kernel);
    } else if (kernel.declarations.empty() && !on_sm && !kernel.watchdog &&
               Peek().text == "watchdog") {
      WatchdogLine(kernel);
    } else if (kernel.declarations.empty() && !on_sm && !kernel.profile &&
               Peek().text == "profile") {
      ProfileLine(kernel);
    } else if (kernel.declarations.empty() && !on_sm && At(TokenKind::KeywordLet)) {
      ValueLine(kernel);
    } else if (!on_sm && At(TokenKind::KeywordOn)) {
      on_sm = true;
      Take();
      Expect(on_stream ? TokenKind::KeywordStream : TokenKind::KeywordSm);
      kernel.sm_braces =
          BlockAfterHeader([&] { on_stream ? StreamNode(kernel.body) : KernelNode(kernel.body); });
      if (!panicking_ && !AtBlockEnd()) {
        Unexpected(Describe(TokenKind::RightBrace));
      }
    } else {
      Declaration(kernel.declarations);
    }
  });
  if (!panicking_ && kernel.braces.IsValid() && !on_sm) {
    uint32_t end = kernel.braces.end;
    diagnostics_.Error(DiagnosticKind::Syntax, {end - 1, end},
                       launched ? fmt::format("expected `on {} {{ … }}` in the kernel, found `}}`",
                                              on_stream ? "stream" : "sm")
                                : "expected `launch` in the kernel, found `}`");
  }
}

/// `loader depth 6 in_flight 3 interval 900;`, the depth only where the kernel does not take what
/// there is.
void Parser::LoaderLine(Kernel& kernel) {
  uint32_t begin = Take().range.begin;
  if (Accept(TokenKind::KeywordDepth)) {
    kernel.depth = Expect(TokenKind::Int).int_value;
  }
  kernel.throttle = OneThrottle(begin);
}

/// `in_flight 3 interval 900 ahead 1;`; `ahead` is a word here only.
Throttle Parser::OneThrottle(uint32_t begin) {
  Throttle throttle;
  Expect(TokenKind::KeywordInFlight);
  throttle.in_flight = Expect(TokenKind::Int).int_value;
  Expect(TokenKind::KeywordInterval);
  throttle.interval = Expect(TokenKind::Int).int_value;
  if (Peek().text == "ahead") {
    Take();
    throttle.ahead = Expect(TokenKind::Int).int_value;
  }
  ExpectSemicolon();
  throttle.range = RangeFrom(begin);
  return throttle;
}

/// `let first = batch * 8;`
void Parser::ValueLine(Kernel& kernel) {
  uint32_t begin = Take().range.begin;
  Token name = Expect(TokenKind::Name);
  Expect(TokenKind::Equal);
  ExprId value = Expression();
  SymbolId symbol = Declare(name, SymbolKind::Value);
  ExpectSemicolon();
  module_->symbols[symbol].value = value;
  module_->symbols[symbol].range = RangeFrom(begin);
  kernel.values.push_back(symbol);
}

/// `check` and `accesses` are words here and at a share's waits only.
void Parser::CheckLine(Kernel& kernel) {
  uint32_t begin = Take().range.begin;
  if (Peek().text == "accesses") {
    Take();
    ExpectSemicolon();
    kernel.check_accesses = RangeFrom(begin);
    return;
  }
  kernel.checks.push_back(OneCheck(begin));
}

/// `watchdog 5;`, of which the word is one here only.
void Parser::WatchdogLine(Kernel& kernel) {
  uint32_t begin = Take().range.begin;
  int64_t seconds = Expect(TokenKind::Int).int_value;
  ExpectSemicolon();
  kernel.watchdog = Watchdog{seconds, RangeFrom(begin)};
}

/// `profile ceildiv(n, sms) * 3;`, of which the word is one here only.
void Parser::ProfileLine(Kernel& kernel) {
  uint32_t begin = Take().range.begin;
  ExprId spans = Expression();
  ExpectSemicolon();
  kernel.profile = Profile{spans, RangeFrom(begin)};
}

void Parser::Checks(std::vector<Check>& checks) {
  while (Peek().text == "check") {
    checks.push_back(OneCheck(Take().range.begin));
  }
}

/// The rest of a check, after the word `check`.
Check Parser::OneCheck(uint32_t begin) {
  Check check;
  if (Accept(TokenKind::LeftParen)) {
    Argument slice = OneArgument();
    Expect(TokenKind::RightParen);
    check.tensor = slice.tensor;
    check.slice = std::move(slice.indices);
  } else if (Token name = Expect(TokenKind::Tensor); !name.text.empty()) {
    check.tensor = FindTensor(name);
  }
  std::vector<Token> names;
  if (Accept(TokenKind::LeftBracket)) {
    List(TokenKind::RightBracket, [&] {
      if (names.empty() && Accept(TokenKind::Star)) {
        ++check.leading;
      } else {
        names.push_back(Expect(TokenKind::Name));
      }
    });
  }
  Preconditions(check, names);
  if (check.counts && At(TokenKind::LeftBracket)) {
    check.counts_slice = SliceIndices();
  }
  if (!panicking_ && !check.value_lo && !check.distinct && !check.monotone && !check.counts) {
    Unexpected("`in`, `distinct`, `monotone` or `counts`");
  }
  ExpectSemicolon();
  check.range = RangeFrom(begin);
  return check;
}

void Parser::Declaration(std::vector<NodeId>& declarations) {
  uint32_t begin = Here();
  if (At(TokenKind::KeywordEvent) || Peek().text == "trigger") {  // a word here only
    return EventNode(declarations);
  }
  if (!At(TokenKind::Tensor)) {
    return Unexpected("a workspace buffer, `event` or `on`");
  }
  Token name = Take();
  Expect(TokenKind::Equal);
  // Before memory is planned, a kernel's buffers are still those of its graph.
  bool placed = !At(TokenKind::KeywordBuffer);
  Expect(placed ? TokenKind::KeywordWorkspace : TokenKind::KeywordBuffer);
  bool flagged = Accept(TokenKind::KeywordFlagged);
  bool symmetric = !flagged && AcceptSymmetric();
  Tensor tensor = Type(name, TensorKind::Buffer);
  tensor.flagged = flagged;
  tensor.symmetric = symmetric;
  if (placed) {
    Expect(TokenKind::KeywordAt);
    tensor.offset = Expression();
  }
  TensorId id = Declare(name, std::move(tensor));
  ExpectSemicolon();
  declarations.push_back(module_->AddNode(BufferDecl{id}, RangeFrom(begin)));
}

void Parser::KernelNode(std::vector<NodeId>& body) {
  Nesting nesting(*this);
  if (!nesting.ok) {
    return;
  }
  if (At(TokenKind::KeywordRepeat)) {
    RepeatNode(body, &Parser::KernelNode);
  } else if (At(TokenKind::KeywordShare)) {
    ShareNode(body);
  } else if (Peek().text == "dispatch") {
    DispatchNode(body);
  } else {
    Unexpected("`share`, `dispatch` or `repeat`");
  }
}

void Parser::StreamNode(std::vector<NodeId>& body) {
  Nesting nesting(*this);
  if (!nesting.ok) {
    return;
  }
  if (At(TokenKind::KeywordRepeat)) {
    RepeatNode(body, &Parser::StreamNode);
  } else if (At(TokenKind::KeywordLaunch)) {
    LaunchNode(body);
  } else {
    Unexpected("`launch` or `repeat`");
  }
}

void Parser::LaunchNode(std::vector<NodeId>& body) {
  uint32_t begin = Take().range.begin;
  Scope scope(*this);
  Share share;
  share.first = Add(IntLiteral{0}, begin);
  share.axes = Axes();
  RunLine(share);
  body.push_back(module_->AddNode(std::move(share), RangeFrom(begin)));
}

void Parser::ShareNode(std::vector<NodeId>& body) {
  uint32_t begin = Take().range.begin;
  Scope scope(*this);
  Share share;
  size_t axes = pos_;
  // The first SM does not depend on the task: it is read before the axes are declared.
  pos_ = BehindBracket(pos_);
  Expect(TokenKind::KeywordFrom);
  share.first = Expression();
  size_t behind = pos_;
  if (!panicking_) {
    pos_ = axes;
    share.axes = Axes();
    pos_ = panicking_ ? pos_ : behind;
  }
  ShareBlock(share, "share");
  body.push_back(module_->AddNode(std::move(share), RangeFrom(begin)));
}

/// The braces of a share or of a case, and what stands in them.
void Parser::ShareBlock(Share& share, std::string_view what) {
  bool has_run = false;
  SourceRange braces = BlockAfterHeader([&] {
    if (has_run) {
      return Unexpected(Describe(TokenKind::RightBrace));
    }
    has_run = true;
    ShareBody(share);
  });
  if (!panicking_ && braces.IsValid() && !has_run) {
    diagnostics_.Error(DiagnosticKind::Syntax, {braces.end - 1, braces.end},
                       fmt::format("expected `run` in the {}, found `}}`", what));
  }
}

/// `dispatch drain ahead 4 at 12 { case … }` or `dispatch queue capacity n ahead 4 at 12 { … }`, of
/// which the words are words here only.
void Parser::DispatchNode(std::vector<NodeId>& body) {
  uint32_t begin = Take().range.begin;
  Dispatch dispatch;
  if (Peek().text == "queue") {
    Take();
    ExpectWord("capacity");
    dispatch.capacity = Expression();
  } else if (Peek().text == "drain") {
    Take();
  } else {
    return Unexpected("`drain` or `queue`");
  }
  ExpectWord("ahead");
  Token ahead = Expect(TokenKind::Int);
  dispatch.ahead = ahead.int_value;
  dispatch.ahead_range = ahead.range;
  if (Accept(TokenKind::KeywordAt)) {
    dispatch.tickets = Expression();
  }
  SourceRange braces = BlockAfterHeader([&] { OneCase(dispatch.cases); });
  if (dispatch.cases.empty()) {
    if (!panicking_ && braces.IsValid()) {
      diagnostics_.Error(DiagnosticKind::Syntax, {braces.end - 1, braces.end},
                         "expected `case` in the dispatch, found `}`");
    }
    return;
  }
  body.push_back(module_->AddNode(std::move(dispatch), RangeFrom(begin)));
}

void Parser::OneCase(std::vector<NodeId>& cases) {
  uint32_t begin = Here();
  ExpectWord("case");
  Scope scope(*this);
  Share share;
  share.axes = Axes();
  if (Accept(TokenKind::KeywordOn)) {
    share.pushed_by = Ref();
  }
  ShareBlock(share, "case");
  cases.push_back(module_->AddNode(std::move(share), RangeFrom(begin)));
}

void Parser::ShareBody(Share& share) {
  if (At(TokenKind::KeywordLoader)) {
    share.throttle = OneThrottle(Take().range.begin);
  }
  while (Peek().text == "arrive") {  // a word here only
    Take();
    share.arrivals.push_back(Ref());
    ExpectSemicolon();
  }
  WaitBlock(TokenKind::KeywordRanges, share.range_waits, share.range_checks, nullptr);
  WaitBlock(TokenKind::KeywordEnter, share.enter_waits, share.enter_checks, &share.awaits_peers);
  share.waits = Signals(TokenKind::KeywordWait);
  Checks(share.task_checks);
  RunLine(share);
  share.notifies = Signals(TokenKind::KeywordNotify);
  share.leave_notifies = SignalBlock(TokenKind::KeywordLeave, TokenKind::KeywordNotify);
}

/// `enter { wait peers; wait %e; check %t distinct; }`, or nothing. The peers are a word where
/// `peers` is given.
void Parser::WaitBlock(TokenKind keyword, std::vector<EventRef>& waits, std::vector<Check>& checks,
                       bool* peers) {
  if (Accept(keyword)) {
    Expect(TokenKind::LeftBrace);
    if (peers != nullptr && At(TokenKind::KeywordWait) && Peek(1).text == "peers" &&
        Peek(1).kind == TokenKind::Name) {
      uint32_t begin = Take().range.begin;
      Take();
      ReachPeers(RangeFrom(begin));
      ExpectSemicolon();
      *peers = true;
    }
    waits = Signals(TokenKind::KeywordWait);
    Checks(checks);
    Expect(TokenKind::RightBrace);
  }
}

/// `run @f[i, j](%a, %p);`: the coordinates are the share's variables.
void Parser::RunLine(Share& share) {
  Expect(TokenKind::KeywordRun);
  Token callee = Expect(TokenKind::Function);
  if (!callee.text.empty()) {
    share.callee = FindDevice(callee);
  }
  uint32_t begin = Here();
  std::vector<ExprId> coordinates = Indices();
  bool same = coordinates.size() == share.axes.size();
  for (size_t i = 0; same && i < coordinates.size(); ++i) {
    same = IsSymbol(*module_, coordinates[i], share.axes[i].var);
  }
  if (!same && !panicking_ && silent_names_ == 0) {
    diagnostics_.Error(DiagnosticKind::Syntax, RangeFrom(begin),
                       "expected the variables of the share, in their order");
  }
  share.args = Arguments(share.scalars);
  ExpectSemicolon();
}

std::vector<EventRef> Parser::Signals(TokenKind keyword) {
  std::vector<EventRef> refs;
  while (Accept(keyword)) {
    refs.push_back(Ref());
    ExpectSemicolon();
  }
  return refs;
}

std::vector<EventRef> Parser::SignalBlock(TokenKind keyword, TokenKind signal) {
  std::vector<EventRef> refs;
  if (Accept(keyword)) {
    Expect(TokenKind::LeftBrace);
    refs = Signals(signal);
    Expect(TokenKind::RightBrace);
  }
  return refs;
}

}  // namespace etc
