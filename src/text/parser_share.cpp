// What SMs and launches run: shares, launches, and the cases of a dispatch.
#include <fmt/format.h>

#include "ir/queue.h"
#include "ir/walk.h"
#include "text/parser_impl.h"

namespace etc {

void Parser::LaunchNode(std::vector<NodeId>& body) {
  uint32_t begin = Take().range.begin;
  Scope scope(*this);
  Share share;
  share.first = Add(IntLiteral{0}, begin);
  share.axes = Axes();
  if (At(TokenKind::LeftBrace)) {
    ShareBlock(share, "launch");
    CheckLaunch(share, begin);
  } else {
    RunLine(share);
  }
  body.push_back(module_->AddNode(std::move(share), RangeFrom(begin)));
}

/// A launch begins when the one before it has ended: besides what it runs it says what is checked.
void Parser::CheckLaunch(const Share& share, uint32_t begin) {
  for (const auto* refs :
       {&share.range_waits, &share.enter_waits, &share.waits, &share.arrivals, &share.after_waits,
        &share.after_arrivals, &share.notifies, &share.leave_notifies}) {
    if (!refs->empty() && !panicking_) {
      diagnostics_.Error(DiagnosticKind::Syntax, refs->front().range,
                         "a launch has no events: it begins when the one before it has ended");
    }
  }
  if (share.throttle && !panicking_) {
    diagnostics_.Error(DiagnosticKind::Syntax, share.throttle->range,
                       "a launch has no pace of its own");
  }
  if (share.awaits_peers && !panicking_) {
    diagnostics_.Error(DiagnosticKind::Syntax, RangeFrom(begin),
                       "a launch does not wait for peers");
  }
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
  // `pushed { arrive %due[e]; }` of a case of which the sizes alone do not tell how many tasks are
  // pushed: what pushes them arrives, not each of them. Words here only.
  bool by_push = Peek().text == "pushed";
  uint32_t begin = Here();
  if (by_push) {
    Take();
    Expect(TokenKind::LeftBrace);
  }
  Arrivals(share.arrivals);
  if (by_push) {
    SourceRange brace = Expect(TokenKind::RightBrace).range;
    if (share.arrivals.empty() && !panicking_) {
      diagnostics_.Error(DiagnosticKind::Syntax, brace, "expected `arrive` in `pushed`, found `}`");
    }
  }
  if (!share.arrivals.empty() && !panicking_ && silent_names_ == 0 &&
      by_push != ArriveByPush(*module_, share)) {
    diagnostics_.Error(
        DiagnosticKind::Syntax, RangeFrom(begin),
        by_push
            ? "each of these tasks may `arrive` by itself: `pushed` is for tasks that are pushed "
              "as many as data or other coordinates say"
            : "data or other coordinates say how many of these tasks there are: what pushes them "
              "arrives, `pushed { arrive … }`");
  }
  AfterBlock(share);
  WaitBlock(TokenKind::KeywordRanges, share.range_waits, share.range_checks, nullptr);
  WaitBlock(TokenKind::KeywordEnter, share.enter_waits, share.enter_checks, &share.awaits_peers);
  share.waits = Signals(TokenKind::KeywordWait);
  Checks(share.task_checks);
  RunLine(share);
  share.notifies = Signals(TokenKind::KeywordNotify);
  share.leave_notifies = SignalBlock(TokenKind::KeywordLeave, TokenKind::KeywordNotify);
}

void Parser::Arrivals(std::vector<EventRef>& refs) {
  while (Peek().text == "arrive") {
    Take();
    refs.push_back(Ref());
    ExpectSemicolon();
  }
}

/// `after { wait %e; arrive %due[%t[i]]; }`, or nothing. `after` is a word here only.
void Parser::AfterBlock(Share& share) {
  if (Peek().text != "after") {
    return;
  }
  Take();
  Expect(TokenKind::LeftBrace);
  share.after_waits = Signals(TokenKind::KeywordWait);
  Arrivals(share.after_arrivals);
  SourceRange brace = Expect(TokenKind::RightBrace).range;
  if (share.after_arrivals.empty() && !panicking_) {
    diagnostics_.Error(DiagnosticKind::Syntax, brace, "expected `arrive` in `after`, found `}`");
  }
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
