#include "emit/cxx_queue.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/cxx_signals.h"
#include "emit/cxx_tasks.h"
#include "support/diagnostics.h"

namespace etc {

namespace {

/// How many of the first coordinates of its tasks say what a push pushes.
size_t GivenBy(const RaisedShare& share) {
  return share.share.pushed_by->indices.size() - share.tickets->iterations.size();
}

}  // namespace

void QueueWriter::WriteHead() {
  const RaisedKernel& kernel = scope_.raised();
  const RaisedTickets& tickets = kernel.shares.at(queue_.pushed.front()).tickets.value();
  if (queue_.counts_pushes) {
    WriteCountedHead();
    return;
  }
  if (takes_) {
    std::string head = fmt::format("{} + {}LL", FirstCounter(scope_, tickets), tickets.cases);
    out_.Line(arch_ == Arch::Host ? fmt::format("const Queue queue{{events, {}}};", head)
                                  : fmt::format("const Queue queue{{events, scheduler, {}, {}}};",
                                                head, tickets.ahead));
  }
  WriteEnds();
  for (NodeId id : queue_.pushed) {
    if (takes_) {
      WritePush(kernel.shares.at(id));
    }
  }
}

/// By the number of tasks of each case.
void QueueWriter::WriteEnds() {
  for (NodeId id : queue_.pushed) {
    const RaisedShare& share = scope_.raised().shares.at(id);
    out_.Line(fmt::format("i64 end_{};", share.tickets->place));
    out_.Open("{");
    TaskLoop loop(out_, scope_, share, arch_);
    loop.WriteCount();
    out_.Line(fmt::format("end_{} = {} + tasks;", share.tickets->place, loop.Begin()));
    out_.Close();
  }
}

/// What a push arrives at belongs to cases behind, whose own pushes are written first.
void QueueWriter::WriteCountedHead() {
  const RaisedKernel& kernel = scope_.raised();
  const RaisedTickets& tickets = kernel.shares.at(queue_.pushed.front()).tickets.value();
  out_.Line(fmt::format("const i64 places = {};", CxxExpr(scope_, tickets.capacity)));
  std::string pushes;
  for (size_t i = 0; i < queue_.pushed.size(); ++i) {
    const RaisedShare& share = kernel.shares.at(queue_.pushed[i]);
    out_.Line(fmt::format("const i64 end_{} = {}LL * places;", share.tickets->place, i + 1));
    std::string mine = "1LL";
    for (size_t axis = 0; axis < GivenBy(share); ++axis) {
      const auto& [var, lo, hi] = share.share.axes[axis];
      mine += fmt::format(" * Max(0LL, {} - {})", CxxExpr(scope_, hi),
                          lo ? CxxExpr(scope_, lo) : "0LL");
    }
    pushes += (i == 0 ? "" : " + ") + mine;
  }
  if (!takes_) {
    return;
  }
  std::string head = fmt::format("{} + {}LL", FirstCounter(scope_, tickets), tickets.cases + 1);
  std::string queue = arch_ == Arch::Host
                          ? fmt::format("{{events, {}}}", head)
                          : fmt::format("{{events, scheduler, {}, {}}}", head, tickets.ahead);
  out_.Line(fmt::format("const CountedQueue queue{{{}, places, {}}};", queue, pushes));
  for (size_t i = queue_.pushed.size(); i-- > 0;) {
    WritePush(kernel.shares.at(queue_.pushed[i]));
  }
}

void QueueWriter::WritePush(const RaisedShare& share) {
  size_t given = GivenBy(share);
  std::string params;
  for (size_t i = 0; i < given; ++i) {
    params += fmt::format("{}i64 x{}", i == 0 ? "" : ", ", i);
  }
  out_.Open(fmt::format("const auto push_{} = [&]({}) {{", share.tickets->place, params));
  if (queue_.counts_pushes) {
    WriteDataPush(share, given);
  } else {
    WriteBoxPush(share, given);
  }
  out_.Close("};");
}

/// The tasks of a box whose first coordinates are given: their numbers follow each other.
void QueueWriter::WriteBoxPush(const RaisedShare& share, size_t given) {
  std::string number, tasks = "1LL";
  for (size_t i = 0; i < share.share.axes.size(); ++i) {
    if (i < given) {
      std::string mine = fmt::format("x{0} - lo{0}", i);
      number = i == 0 ? mine : fmt::format("({}) * n{} + {}", number, i, mine);
    } else {
      tasks += fmt::format(" * n{}", i);
    }
  }
  TaskLoop loop(out_, scope_, share, arch_);
  loop.WriteCount();
  out_.Open("if (tasks > 0) {");
  out_.Line(fmt::format("const i64 some = {};", tasks));
  out_.Line(given == 0 ? fmt::format("queue.Push({}, some);", loop.Begin())
                       : fmt::format("queue.Push({} + ({}) * some, some);", loop.Begin(), number));
  out_.Close();
}

/// The tasks of a box, or of ranges that data decide, and what follows from a push of them: `some`
/// tasks behind the first `before` of the case.
void QueueWriter::WriteDataPush(const RaisedShare& share, size_t given) {
  before_ranges_(share);
  TaskLoop loop(out_, scope_, share, arch_);
  loop.WriteGiven(given);
  out_.Line(fmt::format("queue.Push({} + before, some);", loop.Begin()));
  if (share.tickets->by_push && !share.arrivals.empty()) {
    for (size_t i = 0; i < given; ++i) {
      out_.Line(fmt::format("[[maybe_unused]] const i64 {} = x{};",
                            CxxName(scope_.module(), share.share.axes[i].var), i));
    }
    WriteArrivals(out_, scope_, share.arrivals);
  }
}

void QueueWriter::WriteLoop(const std::function<void(NodeId)>& write) {
  const RaisedKernel& kernel = scope_.raised();
  std::string end = fmt::format("end_{}", kernel.shares.at(queue_.pushed.back()).tickets->place);
  std::string await;
  if (takes_ && queue_.watched) {
    await = ", await_place";
    out_.Open("const auto await_place = [&](u32* place, i64 ticket) {");
    out_.Line(fmt::format("return AwaitPlace(events, place, queue.Tail(), {}, {});",
                          queue_.counts_pushes ? "places" : end,
                          GivesUpText(scope_, *queue_.watched, false, {"ticket"}, queue_.place)));
    out_.Close("};");
  }
  // Who counts pushes sees the end by itself.
  std::string until = queue_.counts_pushes ? (await.empty() ? "" : "await_place") : end + await;
  std::string take = !takes_               ? "tickets.Take()"
                     : arch_ == Arch::Host ? fmt::format("queue.Take({})", until)
                                           : fmt::format("queue.HandEntry({})", until);
  bool arrive = std::any_of(queue_.pushed.begin(), queue_.pushed.end(),
                            [&](NodeId id) { return TasksArrive(kernel.shares.at(id)); });
  if (takes_ && arch_ != Arch::Host && !arrive) {
    out_.Line(fmt::format("while ({} < {}) {{", take, end));
    out_.Line("}");
    return;
  }
  OpenLoop(out_, arch_, fmt::format("for (i64 entry; (entry = {}) < {};) {{", take, end));
  for (size_t i = 0; i < queue_.pushed.size(); ++i) {
    const RaisedShare& share = kernel.shares.at(queue_.pushed[i]);
    bool last = i + 1 == queue_.pushed.size();
    std::string mine = fmt::format("if (entry < end_{}) {{", share.tickets->place);
    if (i == 0) {
      out_.Open(last ? "{" : mine);
    } else {
      out_.Reopen(last ? "} else {" : "} else " + mine);
    }
    write(queue_.pushed[i]);
  }
  out_.Close();
  out_.Close();
}

void QueueWriter::WriteSkip() { out_.Line("tickets.Skip();  // the queue"); }

void WriteArrivals(TextWriter& out, const KernelScope& scope,
                   const std::vector<RaisedArrival>& arrivals) {
  const Module& module = scope.module();
  for (const RaisedArrival& arrival : arrivals) {
    const Event& trigger = module.events[arrival.ref.event];
    ETC_CHECK(trigger.realisation == Realisation::Counter);
    std::string flat = "0LL", given, loops, names, values;
    for (const Axis& axis : arrival.ref.axes) {
      loops += CxxFor(scope, axis);
    }
    if (arrival.ref.guard) {
      loops += fmt::format("if ({}) ", CxxExpr(scope, arrival.ref.guard));
    }
    for (size_t i = 0; i < arrival.ref.indices.size(); ++i) {
      std::string value = CxxExpr(scope, arrival.ref.indices[i].lo);
      if (!arrival.says.empty()) {
        loops += fmt::format("if (OpenChecks(params.event_memory).Inside({}, {}, {})) ",
                             arrival.says[i], value, CxxExpr(scope, trigger.dims[i].extent));
      }
      if (trigger.dims[i].var) {
        names += fmt::format("{}i64 {}", names.empty() ? "" : ", ",
                             CxxName(module, trigger.dims[i].var));
        values += (values.empty() ? "" : ", ") + value;
      }
      flat = i == 0 ? value
                    : fmt::format("({}) * {} + {}", flat, CxxExpr(scope, trigger.dims[i].extent),
                                  value);
      if (i >= arrival.iterations) {
        given += (given.empty() ? "" : ", ") + value;
      }
    }
    std::string count = CxxExpr(scope, trigger.count);
    if (!names.empty()) {
      count = fmt::format("[&]({}) {{ return {}; }}({})", names, count, values);
    }
    out.Open(fmt::format("{}if (queue.Arrive(e_{} + {}, u32({}))) {{", loops, trigger.name, flat,
                         count));
    out.Line(fmt::format("push_{}({});", scope.raised().shares.at(arrival.pushes).tickets->place,
                         given));
    out.Close();
  }
}

}  // namespace etc
