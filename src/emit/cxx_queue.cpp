#include "emit/cxx_queue.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/cxx_names.h"
#include "emit/cxx_signals.h"
#include "emit/cxx_tasks.h"
#include "support/diagnostics.h"

namespace etc {

void QueueWriter::WriteHead() {
  const RaisedKernel& kernel = scope_.raised();
  if (takes_) {
    const RaisedShare& any = kernel.shares.at(queue_.pushed.front());
    std::string head =
        fmt::format("{} + {}LL", FirstCounter(scope_, *any.tickets), any.tickets->cases);
    out_.Line(arch_ == Arch::Host ? fmt::format("const Queue queue{{events, {}}};", head)
                                  : fmt::format("const Queue queue{{events, scheduler, {}, {}}};",
                                                head, any.tickets->ahead));
  }
  for (NodeId id : queue_.pushed) {
    const RaisedShare& share = kernel.shares.at(id);
    out_.Line(fmt::format("i64 end_{};", share.tickets->place));
    out_.Open("{");
    TaskLoop loop(out_, scope_, share, arch_);
    loop.WriteCount();
    out_.Line(fmt::format("end_{} = {} + tasks;", share.tickets->place, loop.Begin()));
    out_.Close();
  }
  for (NodeId id : queue_.pushed) {
    if (takes_) {
      WritePush(kernel.shares.at(id));
    }
  }
}

/// The tasks whose first coordinates are given: their numbers follow each other.
void QueueWriter::WritePush(const RaisedShare& share) {
  const Share& node = share.share;
  size_t given = node.pushed_by->indices.size() - share.tickets->iterations.size();
  std::string params, number, tasks = "1LL";
  for (size_t i = 0; i < node.axes.size(); ++i) {
    if (i < given) {
      params += fmt::format("{}i64 x{}", i == 0 ? "" : ", ", i);
      std::string mine = fmt::format("x{0} - lo{0}", i);
      number = i == 0 ? mine : fmt::format("({}) * n{} + {}", number, i, mine);
    } else {
      tasks += fmt::format(" * n{}", i);
    }
  }
  TaskLoop loop(out_, scope_, share, arch_);
  out_.Open(fmt::format("const auto push_{} = [&]({}) {{", share.tickets->place, params));
  loop.WriteCount();
  out_.Open("if (tasks > 0) {");
  out_.Line(fmt::format("const i64 some = {};", tasks));
  out_.Line(given == 0 ? fmt::format("queue.Push({}, some);", loop.Begin())
                       : fmt::format("queue.Push({} + ({}) * some, some);", loop.Begin(), number));
  out_.Close();
  out_.Close("};");
}

void QueueWriter::WriteLoop(const std::function<void(NodeId)>& write) {
  const RaisedKernel& kernel = scope_.raised();
  std::string end = fmt::format("end_{}", kernel.shares.at(queue_.pushed.back()).tickets->place);
  std::string await;
  if (takes_ && queue_.watched) {
    await = ", await_place";
    out_.Open("const auto await_place = [&](u32* place, i64 ticket) {");
    out_.Line(fmt::format("return AwaitPlace(events, place, queue.Tail(), {}, {});", end,
                          GivesUpText(scope_, *queue_.watched, false, {"ticket"}, queue_.place)));
    out_.Close("};");
  }
  std::string take = !takes_               ? "tickets.Take()"
                     : arch_ == Arch::Host ? fmt::format("queue.Take({}{})", end, await)
                                           : fmt::format("queue.HandEntry({}{})", end, await);
  bool arrive = std::any_of(queue_.pushed.begin(), queue_.pushed.end(),
                            [&](NodeId id) { return !kernel.shares.at(id).arrivals.empty(); });
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

void WriteArrivals(TextWriter& out, const KernelScope& scope, const RaisedShare& share) {
  const Module& module = scope.module();
  for (const Axis& axis : share.share.axes) {  // a trigger may ask for none of them
    out.Line(fmt::format("(void){};", CxxName(module, axis.var)));
  }
  for (const RaisedArrival& arrival : share.arrivals) {
    const Event& trigger = module.events[arrival.ref.event];
    ETC_CHECK(trigger.realisation == Realisation::Counter);
    std::string flat = "0LL", given;
    for (size_t i = 0; i < arrival.ref.indices.size(); ++i) {
      std::string value = CxxExpr(scope, arrival.ref.indices[i].lo);
      flat = i == 0 ? value
                    : fmt::format("({}) * {} + {}", flat, CxxExpr(scope, trigger.dims[i].extent),
                                  value);
      if (i >= arrival.iterations) {
        given += (given.empty() ? "" : ", ") + value;
      }
    }
    out.Open(fmt::format("if (queue.Arrive(e_{} + {}, u32({}))) {{", trigger.name, flat,
                         CxxExpr(scope, trigger.count)));
    out.Line(fmt::format("push_{}({});", scope.raised().shares.at(arrival.pushes).tickets->place,
                         given));
    out.Close();
  }
}

}  // namespace etc
