#include <fmt/format.h>

#include <utility>

#include "ir/printer_blocks.h"
#include "ir/queue.h"

namespace etc {

std::string ScheduleText(std::optional<ScheduleKind> kind) {
  return kind ? fmt::format(" schedule({})", Spelling(*kind)) : "";
}

void NodePrinter::Nodes(const std::vector<NodeId>& nodes) {
  for (NodeId id : nodes) {
    SourceRange range = module_.RangeOf(id);
    layout_.Before(range);
    std::visit([&](const auto& node) { Print(node, range); }, module_.nodes[id]);
    layout_.After(range);
  }
}

void NodePrinter::Print(const BufferDecl& buffer, SourceRange) {
  const Tensor& tensor = module_.tensors[buffer.tensor];
  std::string type = text_.Type(tensor);
  std::string offset = tensor.offset ? " at " + text_.Expr(tensor.offset) : "";
  names_.Declare(buffer.tensor);
  layout_.Line(fmt::format("{} = {} {}{}{}{};", names_.Of(buffer.tensor),
                           tensor.offset ? "workspace" : "buffer",
                           tensor.flagged  ? "flagged "
                           : tensor.phased ? "phased "
                                           : "",
                           tensor.symmetric ? "symmetric " : "", type, offset));
}

void NodePrinter::Print(const EventDecl& decl, SourceRange) {
  const Event& event = module_.events[decl.event];
  std::string head = text_.EventHead(event);
  std::string first = event.first ? " at " + text_.Expr(event.first) : "";
  names_.Declare(decl.event);
  const std::string word =
      fmt::format("{}{}", event.trigger ? "trigger" : "event", event.symmetric ? " symmetric" : "");
  std::string via = event.realisation == Realisation::Unset
                        ? ""
                        : fmt::format(" via {}", Spelling(event.realisation));
  layout_.Line(fmt::format("{} {}{}{}{};", word, names_.Of(decl.event), head, via, first));
}

void NodePrinter::Print(const CallNode& call, SourceRange) {
  std::string head =
      fmt::format("call @{}{}{}{}{}",
                  call.graph ? module_.graphs[call.graph].name : module_.devices[call.callee].name,
                  text_.Generics(call.generics), text_.Pins(call.pins),
                  text_.Arguments(call.args, call.scalars), ScheduleText(call.schedule));
  std::vector<std::string> clauses;
  std::string line = head;
  auto place = [&](const Edge& edge) {
    return edge.coords.empty() ? edge.refs.front().range
                               : module_.symbols[edge.coords.front()].range;
  };
  bool commented = false;  // in front of a clause: what is inside of the last comes behind the call
  for (const auto& [word, edges] : {std::pair("wait", &call.waits), {"notify", &call.notifies}}) {
    for (const Edge& edge : *edges) {
      clauses.push_back(fmt::format("{} {}", word, EdgeText(edge)));
      line += " " + clauses.back();
      commented = commented || layout_.HasCommentBefore(place(edge).begin);
    }
  }
  if (clauses.empty() || (layout_.Fits(line + ";") && !commented)) {
    layout_.Line(line + ";");
    return;
  }
  layout_.Line(head);
  layout_.Indent();
  layout_.Indent();
  size_t next = 0;
  for (const auto* edges : {&call.waits, &call.notifies}) {
    for (const Edge& edge : *edges) {
      layout_.Before(place(edge));
      bool last = next + 1 == clauses.size();
      layout_.Line(clauses[next++] + (last ? ";" : ""));
    }
  }
  layout_.Outdent();
  layout_.Outdent();
}

void NodePrinter::Print(const Repeat& repeat, SourceRange range) {
  PrintNames::State state = names_.Save();
  std::string interval = text_.Interval(repeat.lo, repeat.hi);
  names_.Declare(repeat.var);
  layout_.Open(fmt::format("repeat {} in {}", names_.Of(repeat.var), interval));
  Nodes(repeat.body);
  layout_.Close(range);
  names_.Restore(std::move(state));
}

void NodePrinter::Print(const Region& region, SourceRange range) {
  PrintNames::State state = names_.Save();
  layout_.Open("region" + ScheduleText(region.schedule));
  Nodes(region.body);
  layout_.Close(range);
  names_.Restore(std::move(state));
}

void NodePrinter::Print(const Share& share, SourceRange range) {
  PrintNames::State state = names_.Save();
  const bool launched = place_ == Place::Stream;
  std::string head = launched ? "launch" : place_ == Place::Dispatch ? "case" : "share";
  std::string from = share.first && !launched ? " from " + text_.Expr(share.first) : "";
  std::string axes = text_.Axes(share.axes);
  std::string coordinates =
      Listed(share.axes, [&](const Axis& axis) { return names_.Of(axis.var); });
  std::string run = fmt::format("run @{}[{}]{};", module_.devices[share.callee].name, coordinates,
                                text_.Arguments(share.args, share.scalars));
  if (launched && share.range_checks.empty() && share.enter_checks.empty() &&
      share.task_checks.empty()) {
    layout_.Line(fmt::format("{} {} {}", head, axes, run));
    names_.Restore(std::move(state));
    return;
  }
  std::string on = share.pushed_by ? " on " + text_.Ref(*share.pushed_by) : "";
  layout_.Open(fmt::format("{} {}{}{}", head, axes, from, on));
  if (share.throttle) {
    Loader(*share.throttle, "");
  }
  if (ArriveByPush(module_, share)) {
    SignalBlock("pushed", "arrive", share.arrivals, {});
  } else {
    Signals("arrive", share.arrivals);
  }
  if (!share.after_arrivals.empty()) {
    layout_.Before(
        (share.after_waits.empty() ? share.after_arrivals : share.after_waits).front().range);
    layout_.Open("after");
    Signals("wait", share.after_waits);
    Signals("arrive", share.after_arrivals);
    layout_.Close({});
  }
  SignalBlock("ranges", "wait", share.range_waits, share.range_checks);
  SignalBlock("enter", "wait", share.enter_waits, share.enter_checks, share.awaits_peers);
  Signals("wait", share.waits);
  Checks(share.task_checks);
  if (!share.args.empty()) {
    layout_.Before(share.args.front().range);
  }
  layout_.Line(run);
  Signals("notify", share.notifies);
  SignalBlock("leave", "notify", share.leave_notifies, {});
  layout_.Close(range);
  names_.Restore(std::move(state));
}

void NodePrinter::Print(const Dispatch& dispatch, SourceRange range) {
  std::string tickets = dispatch.tickets ? " at " + text_.Expr(dispatch.tickets) : "";
  std::string kind =
      dispatch.capacity ? "queue capacity " + text_.Expr(dispatch.capacity) : "drain";
  layout_.Open(fmt::format("dispatch {} ahead {}{}", kind, dispatch.ahead, tickets));
  Place around = std::exchange(place_, Place::Dispatch);
  Nodes(dispatch.cases);
  place_ = around;
  layout_.Close(range);
}

std::string Print(const Throttle& throttle) {
  std::string text = fmt::format("in_flight {} interval {}", throttle.in_flight, throttle.interval);
  text += throttle.ahead ? fmt::format(" ahead {}", *throttle.ahead) : "";
  text += throttle.prefetch ? fmt::format(" prefetch {}", *throttle.prefetch) : "";
  return text;
}

void NodePrinter::Loader(const Throttle& throttle, const std::string& depth) {
  layout_.Before(throttle.range);
  layout_.Line(fmt::format("loader {}{};", depth, etc::Print(throttle)));
  layout_.After(throttle.range);
}

void NodePrinter::Signals(std::string_view word, const std::vector<EventRef>& refs) {
  for (const EventRef& ref : refs) {
    layout_.Before(ref.range);
    layout_.Line(fmt::format("{} {};", word, text_.Ref(ref)));
  }
}

void NodePrinter::SignalBlock(std::string_view block, std::string_view word,
                              const std::vector<EventRef>& refs, const std::vector<Check>& checks,
                              bool peers) {
  if (refs.empty() && checks.empty() && !peers) {
    return;
  }
  layout_.Before(!refs.empty()     ? refs.front().range
                 : !checks.empty() ? checks.front().range
                                   : SourceRange{});
  if (refs.size() + (peers ? 1 : 0) == 1 && checks.empty()) {
    std::string line =
        fmt::format("{} {{ {} {}; }}", block, word, peers ? "peers" : text_.Ref(refs.front()));
    if (layout_.Fits(line)) {
      layout_.Line(line);
      return;
    }
  }
  layout_.Open(block);
  if (peers) {
    layout_.Line("wait peers;");
  }
  Signals(word, refs);
  Checks(checks);
  layout_.Close({});
}

void NodePrinter::Checks(const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    layout_.Before(check.range);
    layout_.Line(text_.Check(check));
  }
}

std::string NodePrinter::EdgeText(const Edge& edge) {
  PrintNames::State state = names_.Save();
  std::string coords = Listed(edge.coords, [&](SymbolId id) {
    names_.Declare(id);
    return names_.Of(id);
  });
  std::string refs = Listed(edge.refs, [&](const EventRef& ref) { return text_.Ref(ref); });
  names_.Restore(std::move(state));
  return fmt::format("({}) => {}", coords, refs);
}

}  // namespace etc
