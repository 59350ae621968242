// Scheduled kernels.
#include <fmt/format.h>

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
      uint32_t begin = Here();
      Expect(TokenKind::KeywordLaunch);
      Expect(TokenKind::KeywordConsumers);
      kernel.consumer_warps = Expect(TokenKind::Int).int_value;
      Expect(TokenKind::KeywordShared);
      kernel.shared_bytes = Expect(TokenKind::Int).int_value;
      ExpectSemicolon();
      kernel.launch = RangeFrom(begin);
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

/// `in_flight 3 interval 900 ahead 1 prefetch 1400;`; the last two are words here only.
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
  if (Peek().text == "prefetch") {
    Take();
    throttle.prefetch = Expect(TokenKind::Int).int_value;
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
  bool phased = !flagged && AcceptWord("phased");
  bool symmetric = AcceptSymmetric();
  Tensor tensor = Type(name, TensorKind::Buffer);
  tensor.flagged = flagged;
  tensor.phased = phased;
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

}  // namespace etc
