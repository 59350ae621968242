#include "emit/cxx_walk.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/cxx_body.h"
#include "emit/cxx_checks.h"
#include "emit/cxx_names.h"
#include "emit/cxx_queue.h"
#include "emit/cxx_signals.h"
#include "emit/cxx_spans.h"
#include "emit/cxx_tasks.h"
#include "ir/overloaded.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

/// The name of a role's object.
const char* NameOf(Role role) {
  return role == Role::EpilogueWarp ? "epilogue_warp"
         : role == Role::Loader     ? "loader"
         : role == Role::Scheduler  ? "scheduler"
                                    : "consumer";
}

std::string Reduction(const Device& device) {
  return fmt::format("ReductionOf<Impl_{}>", device.name);
}

class WalkWriter {
 public:
  WalkWriter(TextWriter& out, const KernelScope& scope, Role role, Arch arch, bool launch)
      : out_(out),
        scope_(scope),
        module_(scope.module()),
        kernel_(scope.raised()),
        role_(role),
        arch_(arch),
        launch_(launch),
        signals_(out, scope, NameOf(role), role != Role::Scheduler),
        spans_(out, scope, NameOf(role), role != Role::Scheduler) {}

  /// The whole walk, with the role's recorder around it.
  template <class Walk>
  void Record(Walk walk) {
    spans_.Open(role_);
    walk();
    spans_.Close(role_);
  }

  void WriteNodes(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      std::visit(Overloaded{
                     [&](const Share&) { WriteShare(id); },
                     [&](const Dispatch& dispatch) { WriteDispatch(id, dispatch); },
                     [&](const Repeat& repeat) { WriteRepeat(id, repeat); },
                     [](const OneOf<BufferDecl, EventDecl> auto&) {},
                     [](const OneOf<CallNode, Region> auto&) { ETC_CHECK(!"a graph's node"); },
                 },
                 module_.nodes[id]);
    }
  }

  void WriteShare(NodeId id) {
    const RaisedShare& share = kernel_.shares.at(id);
    const RaisedRole& part = PartIn(share);
    const Device& device = kernel_.devices[share.device].device;
    if (!part.walks) {
      if (part.skips && !share.tickets->pushed) {
        out_.Line(fmt::format("tickets.Skip();  // @{}", device.name));
      }
      return;
    }
    if (role_ == Role::Scheduler && share.tickets->pushed && !TasksArrive(share)) {
      return;
    }
    std::string guard = role_ == Role::EpilogueWarp
                            ? fmt::format("if constexpr ({}::kExists) ", Reduction(device))
                            : "";
    out_.Open(fmt::format("{}{{  // @{}", share.moves_others ? "" : guard, device.name));
    if (arch_ != Arch::Host && !share.tickets) {
      out_.Line("const i64 sms = GridSize();");  // not the one value that is there all along
    }
    if (part.waits_first) {
      WriteBeforeRanges(share);
    }
    TaskLoop loop(out_, scope_, share, arch_);
    loop.WriteCount();
    if (role_ == Role::Scheduler) {
      WriteHanding(share, loop);
      out_.Close();
      return;
    }
    loop.WriteFirst([&] { WriteTaskArrivals(share); });
    bool behind = arrives_behind_ && share.tickets->pushed && TasksArrive(share);
    if (behind) {
      out_.Line("const i64 taken = task;");
    } else if (arch_ == Arch::Host && share.tickets && share.tickets->pushed) {
      WriteTaken(share, loop, "task");
    }
    out_.Open((share.moves_others ? guard : "") + "if (task < tasks) {");
    WriteArguments(out_, scope_, share, PartIn(share));
    switch (role_) {
      case Role::Loader:
        WriteLoads(share, device, loop);
        break;
      case Role::EpilogueWarp:
        WriteReductions(share, device, loop);
        break;
      case Role::Prefetch:
        WritePrefetch(share, device, loop);
        break;
      case Role::Consumer:
        WriteTasks(share, device, loop);
        break;
      case Role::Scheduler:
        break;  // it runs no tasks
    }
    out_.Close();
    if (behind) {
      WriteTaken(share, loop, "taken");
    }
    if (share.tickets && !share.tickets->pushed && !guard.empty()) {
      out_.Reopen("} else {");
      out_.Line("tickets.Skip();");
    }
    out_.Close();
  }

 private:
  /// The cases in program order, or of a queue those that are there from the start and then, task
  /// by task, those that are pushed.
  void WriteDispatch(NodeId id, const Dispatch& dispatch) {
    auto found = kernel_.queues.find(id);
    if (found == kernel_.queues.end()) {
      WriteNodes(dispatch.cases);
      return;
    }
    const RaisedQueue& queue = found->second;
    bool takes = arch_ == Arch::Host || role_ == Role::Scheduler;
    QueueWriter writer(out_, scope_, queue, arch_, takes, [&](const RaisedShare& share) {
      if (PartIn(share).waits_first) {
        WriteBeforeRanges(share);
      }
    });
    arrives_behind_ = arch_ == Arch::Host && queue.counts_pushes;
    out_.Open("{  // a queue");
    if (takes || std::any_of(queue.pushed.begin(), queue.pushed.end(),
                             [&](NodeId each) { return PartIn(kernel_.shares.at(each)).walks; })) {
      writer.WriteHead();
      WriteNodes(queue.from_start);
      writer.WriteLoop([&](NodeId each) { WriteShare(each); });
    } else {
      WriteNodes(queue.from_start);
      writer.WriteSkip();
    }
    out_.Close();
    arrives_behind_ = false;
  }

  /// By the scheduler: the tasks of a case, and what each arrives at.
  void WriteHanding(const RaisedShare& share, TaskLoop& loop) {
    const RaisedTickets& tickets = share.tickets.value();
    if (tickets.pushed) {
      loop.WriteFirst([] {});
      WriteTaken(share, loop, "task");
    } else if (!TasksArrive(share)) {
      out_.Line(
          fmt::format("scheduler.Hand(events, {}, tasks, {});", loop.Counter(), tickets.ahead));
    } else {
      OpenLoop(out_, arch_,
               fmt::format("for (i64 task; (task = queue.HandTask({}, tasks)) < tasks;) {{",
                           loop.Counter()));
      loop.WriteCoordinates();
      WriteTaskArrivals(share);
      out_.Close();
    }
  }

  /// What the task arrives at whose coordinates are there.
  void WriteTaskArrivals(const RaisedShare& share) {
    for (const Axis& axis : share.share.axes) {  // a trigger may ask for none of them
      out_.Line(fmt::format("(void){};", CxxName(module_, axis.var)));
    }
    WriteArrivals(out_, scope_, share.arrivals);
  }

  /// What a task arrives at that has been taken from the queue, whose number is the variable
  /// `task`.
  void WriteTaken(const RaisedShare& share, TaskLoop& loop, const std::string& task) {
    if (TasksArrive(share)) {
      out_.Open(fmt::format("if ({} < tasks) {{", task));
      loop.WriteCoordinates(task);
      WriteTaskArrivals(share);
      out_.Close();
    }
  }

  const RaisedRole& PartIn(const RaisedShare& share) const {
    return share.roles[static_cast<size_t>(role_)];
  }

  void WriteRepeat(NodeId id, const Repeat& repeat) {
    bool walks = (role_ != Role::Loader && role_ != Role::Scheduler) ||
                 (role_ == Role::Loader && kernel_.preloading.contains(id)) ||
                 kernel_.dispatching.contains(id);
    if (walks) {
      OpenLoop(out_, arch_, CxxFor(scope_, {repeat.var, repeat.lo, repeat.hi}) + "{");
      WriteNodes(repeat.body);
      out_.Close();
    }
  }

  void WriteWaits(const std::vector<RaisedSignal>& waits, const std::vector<OrderPart>& place) {
    if (!waits.empty()) {
      signals_.WriteWaits(waits, place);
    }
  }

  /// The waits that must precede reading the ranges of the tasks, or what the loader is to copy,
  /// from tensors.
  void WriteBeforeRanges(const RaisedShare& share) {
    if (PartIn(share).after_launches) {
      out_.Line("AwaitEarlierLaunches();");
      spans_.Skip();
    }
    if (!share.range_waits.empty()) {
      WriteWaits(share.range_waits, share.place);
      out_.Line(fmt::format("{}.Sync();", NameOf(role_)));
    }
    WriteChecks(share.range_checks);
  }

  /// By the consumers of each SM, of all elements: others may be as far as their tasks.
  void WriteChecks(const std::vector<RaisedCheck>& checks) {
    if (role_ != Role::Consumer || checks.empty()) {
      return;
    }
    const char* threads = arch_ == Arch::Host ? "1" : "Consumer::kThreads";
    out_.Open("{");
    out_.Line("const Checks checks = OpenChecks(params.event_memory);");
    for (const RaisedCheck& check : checks) {
      WriteCheck(out_, scope_, check, "consumer.thread", threads);
    }
    out_.Close();
  }

  void WriteLoads(const RaisedShare& share, const Device& device, TaskLoop& loop) {
    const std::optional<Throttle>& throttle = share.throttle;
    std::string ahead = throttle && throttle->ahead ? fmt::format(", {}", *throttle->ahead) : "";
    out_.Line(throttle ? fmt::format("loader.SetThrottle({}, {}{});", throttle->in_flight,
                                     throttle->interval, ahead)
                       : "loader.SetThrottle(Loader::kNoLimit, 0);");
    bool behind = !share.behind_wait.empty();
    if (behind) {
      out_.Line(fmt::format("Impl_{}::Source source(loader, args);", device.name));
    }
    if (share.fetches) {
      WriteFetchWaits(share.enter_waits, share);
    }
    loop.Open(loop.Step());
    if (share.fetches) {
      WriteFetchWaits(share.waits, share);
    }
    out_.Line(behind
                  ? fmt::format("source.Load(loader, args{});", loop.Coordinates())
                  : fmt::format("Impl_{}::Load(loader, args{});", device.name, loop.Coordinates()));
    spans_.EndTask(share);
    loop.Close();
  }

  /// The loader's waits for what tasks have written and tensor copies are to read.
  void WriteFetchWaits(const std::vector<RaisedSignal>& waits, const RaisedShare& share) {
    if (!waits.empty()) {
      WriteWaits(waits, share.place);
      out_.Line("loader.Sync();");
      out_.Line("CopyFence();");
    }
  }

  /// For the first task.
  void WritePrefetch(const RaisedShare& share, const Device& device, TaskLoop& loop) {
    if (!share.prefetches) {
      return;
    }
    out_.Open("{");
    loop.WriteCoordinates();
    out_.Line(fmt::format("PrefetchTask<Impl_{}>(0, consumer, args{});", device.name,
                          loop.Coordinates()));
    out_.Close();
  }

  void WriteTasks(const RaisedShare& share, const Device& device, TaskLoop& loop) {
    std::string make = fmt::format("Impl_{} impl(consumer, args);", device.name);
    if (!launch_) {
      WritePrefetch(share, device, loop);
      if (share.share.awaits_peers) {
        out_.Open("if (!peers_began) {");  // to know it once is enough
        out_.Line(AwaitPeersText(scope_, share, arch_));
        out_.Line("peers_began = true;");
        spans_.Skip();
        out_.Close();
      }
      WriteWaits(share.enter_waits, share.place);
      std::string where =
          share.enters_together
              ? ""
              : fmt::format("if constexpr (Impl_{}::kScratchBytes > 0) ", device.name);
      out_.Line(where + "consumer.Sync();");
    }
    WriteChecks(share.enter_checks);
    if (share.one_object) {
      out_.Line(make);
    }
    out_.Line("u32 done = 0;");
    loop.Open(loop.Step() + ", ++done");
    if (!share.one_object) {
      WriteTaskWaits(share, device);
      out_.Line(make);
    }
    WriteChecks(share.task_checks);
    out_.Line(share.hands_waits
                  ? fmt::format("RunTask(impl, await, consumer, args{});", loop.Coordinates())
                  : fmt::format("impl.Run(consumer, args{});", loop.Coordinates()));
    spans_.EndTask(share);
    WriteNotifies(share.notifies, device, "1");
    loop.Close();
    WriteNotifies(share.leave_notifies, device, "done");
  }

  /// Of the consumers, for each task: here, or where the implementation says so.
  void WriteTaskWaits(const RaisedShare& share, const Device& device) {
    if (share.hands_waits) {
      out_.Open("const auto await = [&](auto& consumer) {");
    }
    WriteWaits(share.waits, share.place);
    out_.Line("consumer.Sync();");
    if (share.hands_waits) {
      out_.Close("};");
      out_.Line(fmt::format("AwaitTask<Impl_{}>(await, consumer);", device.name));
    }
  }

  /// The epilogue warp's side of the tasks: what it is made for follows the consumers' objects.
  void WriteReductions(const RaisedShare& share, const Device& device, TaskLoop& loop) {
    std::string make = fmt::format("{} reduction(epilogue_warp, args);", Reduction(device));
    if (share.one_object) {
      out_.Line(make);
    }
    out_.Line("u32 done = 0;");
    std::string_view count = loop.OpenBox();
    out_.Line(share.tickets ? "i64 prepared = task - 1, upcoming;" : "i64 ahead = task;");
    loop.WriteAhead();
    OpenLoop(out_, arch_,
             fmt::format("for (; task < {}; {}, ++done) {{", count,
                         share.tickets ? "task = upcoming" : loop.Step()));
    if (share.tickets) {
      out_.Line(fmt::format("upcoming = {};", loop.Take()));
    }
    if (!share.one_object) {
      out_.Line(make);
    }
    WritePreparations(share, device, loop, count);
    loop.WriteCoordinates();
    out_.Line(fmt::format("reduction.Run(epilogue_warp, args{});", loop.Coordinates()));
    spans_.EndTask(share);
    WriteNotifies(share.notifies, device, "1");
    loop.Close();
    WriteNotifies(share.leave_notifies, device, "done");
  }

  /// A task may be prepared one ahead, since the waits in front of the share are for all tasks.
  void WritePreparations(const RaisedShare& share, const Device& device, TaskLoop& loop,
                         std::string_view count) {
    out_.Open(fmt::format("if constexpr (PreparesTasks<{}>::value) {{", Reduction(device)));
    if (share.tickets) {
      OpenLoop(
          out_, arch_,
          fmt::format("for (i64 ahead = prepared < task ? task : upcoming; ahead > prepared && "
                      "ahead < {}; ahead = {}) {{",
                      count, share.one_object ? "upcoming" : "prepared"));
      out_.Line("prepared = ahead;");
    } else {
      OpenLoop(out_, arch_,
               fmt::format("for (; ahead < {} && ahead <= task{}; ahead += sms) {{", count,
                           share.one_object ? " + sms" : ""));
    }
    loop.WriteCoordinates("ahead");
    out_.Line(fmt::format("PrepareTask(reduction, epilogue_warp, args{});", loop.Coordinates()));
    out_.Close();
    out_.Close();
  }

  /// By the role that ends a kernel's tasks.
  void WriteNotifies(const std::vector<RaisedSignal>& signals, const Device& device,
                     const std::string& amount) {
    if (signals.empty()) {
      return;
    }
    bool guarded = arch_ != Arch::Host && role_ == Role::Consumer;
    if (guarded) {
      out_.Open(fmt::format("if constexpr (!{}::kExists) {{", Reduction(device)));
    }
    if (kernel_.fetches) {
      out_.Line("CopyFence();");  // of each thread, for what it has written
    }
    out_.Line(fmt::format("{}.Sync();", NameOf(role_)));
    signals_.WriteNotifies(signals, amount);
    if (guarded) {
      out_.Close();
    }
  }

  TextWriter& out_;
  const KernelScope& scope_;
  const Module& module_;
  const RaisedKernel& kernel_;
  Role role_;
  Arch arch_;
  bool launch_;  // what comes before this launch has ended
  // On the host one thread pushes and runs tasks, so a pushed task arrives behind its notifies
  // where a push may wait for them.
  bool arrives_behind_ = false;
  SignalWriter signals_;
  SpanWriter spans_;
};

}  // namespace

void WriteWalk(TextWriter& out, const KernelScope& scope, Role role, Arch arch) {
  if (scope.raised().moves) {
    out.Line("[[maybe_unused]] i64 moved = 0;");
  }
  if (scope.module().mesh && role == Role::Consumer) {
    out.Line("[[maybe_unused]] bool peers_began = false;");
  }
  WalkWriter writer(out, scope, role, arch, false);
  writer.Record([&] { writer.WriteNodes(scope.raised().kernel.body); });
}

void WriteLaunch(TextWriter& out, const KernelScope& scope, const RaisedLaunch& launch, Role role,
                 Arch arch) {
  for (size_t i = 0; i < launch.iterations.size(); ++i) {
    out.Line(fmt::format("[[maybe_unused]] const i64 {} = params.iteration_{};",
                         CxxName(scope.module(), launch.iterations[i]), i));
  }
  WalkWriter writer(out, scope, role, arch, true);
  writer.Record([&] { writer.WriteShare(launch.share); });
}

}  // namespace etc
