#include "emit/cxx_signals.h"

#include <fmt/format.h>

#include "emit/cxx_spans.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

/// A place in program order: a number that grows with it, and differs from SM to SM.
std::string NumberOf(const KernelScope& scope, const std::vector<OrderPart>& place) {
  std::string number;
  for (const OrderPart& part : place) {
    std::string value =
        part.repeat == nullptr
            ? fmt::format("{}LL", part.node)
            : fmt::format("{} - {}", CxxName(scope.module(), part.repeat->var),
                          part.repeat->lo ? CxxExpr(scope, part.repeat->lo) : "0LL");
    number += fmt::format("u64(Min({}, {}LL)) << {} | ", value, part.most, part.shift);
  }
  return number + "u64(Min(sm, 255LL))";
}

/// A lambda of these parameters. Of a rank, it cuts itself off from its peers.
std::string GivesUpLambda(const KernelScope& scope, const char* parameters,
                          const WatchMessage& message, bool checked,
                          const std::vector<std::string>& values,
                          const std::vector<OrderPart>& place) {
  std::string all = message.sm ? ", sm" : "";
  for (SymbolId variable : message.variables) {
    all += ", " + CxxName(scope.module(), variable);
  }
  for (const std::string& value : values) {
    all += ", " + value;
  }
  std::string gives_up = fmt::format(
      "{}wait.GivesUp({}, {}, {}{})", checked ? "OpenChecks(params.event_memory).Failed() || " : "",
      scope.raised().kernel.watchdog->seconds, NumberOf(scope, place), message.text, all);
  if (scope.module().mesh) {
    gives_up = fmt::format("dims.peers.CutOff({})", gives_up);
  }
  return fmt::format("[&]({}) {{ return {}; }}", parameters, gives_up);
}

}  // namespace

std::string GivesUpText(const KernelScope& scope, const WatchMessage& message, bool checked,
                        const std::vector<std::string>& values,
                        const std::vector<OrderPart>& place) {
  return GivesUpLambda(scope, "const Stalled& wait", message, checked, values, place);
}

std::string AwaitPeersText(const KernelScope& scope, const RaisedShare& share, Arch arch) {
  const bool host = arch == Arch::Host;
  if (!share.watched_peers) {
    return host ? "dims.peers.Await(u32(params.launch));" : "dims.peers.Await(consumer, events);";
  }
  return fmt::format("AwaitPeersWatched(dims.peers, {}, {});",
                     host ? "events, u32(params.launch)" : "consumer, events",
                     GivesUpLambda(scope, "const Stalled& wait, u64 late", *share.watched_peers,
                                   false, {"late", "wait.count"}, share.place));
}

/// One call for each element of each reference: a wait where there is a place, for as many notifies
/// as the event counts, or else `amount` notifies.
void SignalWriter::Write(const std::vector<RaisedSignal>& signals, const std::string& amount,
                         const std::vector<OrderPart>* place) {
  const Module& module = scope_.module();
  for (const RaisedSignal& signal : signals) {
    const EventRef& ref = signal.ref;
    const Event& event = module.events[ref.event];
    const bool shared = event.realisation == Realisation::Shared;
    ETC_CHECK(shared || event.realisation == Realisation::Counter);
    std::string loops, flat = "0LL", names, values;
    std::vector<std::string> indices;
    if (signal.one_thread) {
      loops = fmt::format("if ({}.thread == 0) ", role_);
    }
    for (const Axis& axis : ref.axes) {
      loops += CxxFor(scope_, axis);
    }
    if (ref.guard) {
      loops += fmt::format("if ({}) ", CxxExpr(scope_, ref.guard));
    }
    for (size_t i = 0; i < ref.indices.size(); ++i) {
      const EventIndex& index = ref.indices[i];
      std::string extent = CxxExpr(scope_, event.dims[i].extent);
      std::string value = index.all || index.hi ? fmt::format("x{}", i) : CxxExpr(scope_, index.lo);
      if (index.all || index.hi) {
        loops += fmt::format("for (i64 {0} = {1}; {0} < {2}; ++{0}) ", value,
                             index.all ? "0LL" : CxxExpr(scope_, index.lo),
                             index.all ? extent : CxxExpr(scope_, index.hi));
      }
      indices.push_back(value);
      flat = i == 0 ? value : fmt::format("({}) * {} + {}", flat, extent, value);
      if (event.dims[i].var) {
        names +=
            fmt::format("{}i64 {}", names.empty() ? "" : ", ", CxxName(module, event.dims[i].var));
        values += (values.empty() ? "" : ", ") + value;
      }
    }
    std::string count = amount;
    if (place != nullptr) {
      count = CxxExpr(scope_, event.count);
      if (!names.empty()) {
        count = fmt::format("[&]({}) {{ return {}; }}({})", names, count, values);
      }
    }
    std::string record;
    if (signal.checked) {
      loops += "if (" + InsideOf(signal, indices) + ") ";
      if (place != nullptr) {
        record = "OpenChecks(params.event_memory), ";
        // No event counts less than nothing, or more than its counter holds.
        count = fmt::format("OpenChecks(params.event_memory).InRange({}, {}, 0, 1LL << 32)",
                            signal.says.count, count);
      }
    }
    const std::string counter = fmt::format("e_{} + {}, u32({})", event.name, flat, count);
    const std::string events =
        ref.peer ? fmt::format("EventsAt(events, dims.peers, {})", CxxExpr(scope_, ref.peer))
        : event.symmetric ? "Symmetric(events)"
        : shared          ? "cta_events"
                          : "events";
    if (place == nullptr) {
      if (signal.one_fence) {
        out_.Line(fmt::format("ReleaseToSystem({});", role_));
      }
      out_.Line(fmt::format("{}{}.{}({}, {});", loops, events,
                            signal.one_fence ? "NotifyReleased" : "NotifyOne", role_, counter));
    } else if (!signal.watched) {
      out_.Line(fmt::format("{}{}.WaitOne({}, {}{});", loops, events, role_, record, counter));
    } else {
      out_.Line(fmt::format("{}WaitWatched({}, {}, {}, {});", loops, events, role_, counter,
                            GivesUpText(scope_, *signal.watched, signal.checked, indices, *place)));
    }
    if (signal.span && records_) {
      WriteSpan(signal);
    }
  }
}

void SignalWriter::WriteSpan(const RaisedSignal& signal) {
  std::string when;
  if (signal.guards_span) {
    when = fmt::format("{}if ({}) ",
                       signal.one_thread ? fmt::format("if ({}.thread == 0) ", role_) : "",
                       CxxExpr(scope_, signal.ref.guard));
  }
  out_.Line(
      fmt::format("{}recorder.EndSignal({}, {});", when, role_, SpanWord(scope_, *signal.span)));
}

/// Whether an element that data may decide is one of the event.
std::string SignalWriter::InsideOf(const RaisedSignal& signal,
                                   const std::vector<std::string>& indices) const {
  const Event& event = scope_.module().events[signal.ref.event];
  std::string inside, peer;
  auto hold = [&](MessageId message, const std::string& value, const std::string& extent) {
    inside += fmt::format("{}OpenChecks(params.event_memory).Inside({}, {}, {}{})",
                          inside.empty() ? "" : " && ", message, value, extent, peer);
  };
  if (signal.ref.peer) {
    std::string rank = CxxExpr(scope_, signal.ref.peer);
    hold(signal.says.peer, rank, "dims.peers.ranks");
    peer = ", " + rank;
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    hold(signal.says.indices[i], indices[i], CxxExpr(scope_, event.dims[i].extent));
  }
  return inside.empty() ? "true" : inside;
}

}  // namespace etc
