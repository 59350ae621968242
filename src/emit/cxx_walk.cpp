#include "emit/cxx_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "emit/cxx_body.h"
#include "emit/cxx_queue.h"
#include "emit/cxx_role_tasks.h"
#include "emit/cxx_tasks.h"
#include "ir/overloaded.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

class WalkWriter {
 public:
  WalkWriter(TextWriter& out, const KernelScope& scope, Role role, Arch arch, bool launch)
      : out_(out),
        scope_(scope),
        module_(scope.module()),
        kernel_(scope.raised()),
        role_(role),
        arch_(arch),
        tasks_(out, scope, role, arch, launch) {}

  /// The nest of the kernel, with the role's recorder around it.
  void WriteNest() {
    tasks_.Record([&] { WriteNodes(kernel_.kernel.body); });
  }

  /// The same of one share.
  void WriteLaunch(NodeId share) {
    tasks_.Record([&] { WriteShare(share); });
  }

 private:
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
    if (role_ == Role::Scheduler && share.tickets->pushed && !TasksArrive(share) &&
        !TasksArriveAfter(share)) {
      return;
    }
    std::string guard = role_ == Role::EpilogueWarp
                            ? fmt::format("if constexpr ({}::kExists) ", ReductionName(device))
                            : "";
    out_.Open(fmt::format("{}{{  // @{}", share.moves_others ? "" : guard, device.name));
    if (arch_ != Arch::Host && !share.tickets) {
      out_.Line("const i64 sms = GridSize();");  // not the one value that is there all along
    }
    if (part.waits_first) {
      tasks_.WriteBeforeRanges(share);
    }
    TaskLoop loop(out_, scope_, share, arch_);
    loop.WriteCount();
    if (role_ == Role::Scheduler) {
      WriteHanding(share, loop);
      out_.Close();
      return;
    }
    loop.WriteFirst([&] { WriteTaskArrivals(share); });
    const bool pushed = arch_ == Arch::Host && share.tickets && share.tickets->pushed;
    const bool arrives = pushed && TasksArrive(share);
    const bool behind = pushed && ((arrives && arrives_behind_) || TasksArriveAfter(share));
    if (behind) {
      out_.Line("const i64 taken = task;");
    }
    if (arrives && !arrives_behind_) {
      WriteTaken(share, loop, "task", [&] { WriteArrivals(out_, scope_, share.arrivals); });
    }
    out_.Open((share.moves_others ? guard : "") + "if (task < tasks) {");
    WriteArguments(out_, scope_, share, PartIn(share));
    if (role_ == Role::Loader && !share.next.empty()) {
      WriteLookAhead(share);
    }
    tasks_.Write(share, device, loop);
    out_.Close();
    if (behind) {
      WriteTaken(share, loop, "taken", [&] {
        if (arrives && arrives_behind_) {
          WriteArrivals(out_, scope_, share.arrivals);
        }
        WriteAfter(share);
      });
    }
    if (share.tickets && !share.tickets->pushed && !guard.empty()) {
      out_.Reopen("} else {");
      out_.Line("tickets.Skip();");
    }
    out_.Close();
  }

  /// `ahead`, which asks L2 for what the SM's tasks copy in shares of the next iteration.
  void WriteLookAhead(const RaisedShare& share) {
    std::string name = CxxName(module_, repeat_->var);
    out_.Open(fmt::format("const auto ahead = [&, following = {} + 1](auto& prefetcher) {{", name));
    out_.Line(fmt::format("const i64 {} = following;", name));
    out_.Open(fmt::format("if ({} < {}) {{", name, CxxExpr(scope_, repeat_->hi)));
    for (NodeId next : share.next) {
      const RaisedShare& upcoming = kernel_.shares.at(next);
      const Device& device = kernel_.devices[upcoming.device].device;
      out_.Open(fmt::format("{{  // @{}", device.name));
      out_.Line("const i64 sms = GridSize();");
      TaskLoop loop(out_, scope_, upcoming, arch_);
      loop.WriteCount();
      loop.WriteFirst([] {});
      out_.Open("if (task < tasks) {");
      WriteArguments(out_, scope_, upcoming, PartIn(upcoming));
      loop.Open(loop.Step());
      out_.Line(fmt::format("PrefetchLoads<Impl_{}>(0, prefetcher, args{});", device.name,
                            loop.Coordinates()));
      loop.Close();
      out_.Close();
      out_.Close();
    }
    out_.Close();
    out_.Close("};");
  }

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
        tasks_.WriteBeforeRanges(share);
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
      WriteTaken(share, loop, "task", [&] {
        WriteArrivals(out_, scope_, share.arrivals);
        WriteAfter(share);
      });
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
    WriteUses(share);
    WriteArrivals(out_, scope_, share.arrivals);
  }

  /// A trigger may ask for none of the coordinates.
  void WriteUses(const RaisedShare& share) {
    for (const Axis& axis : share.share.axes) {
      out_.Line(fmt::format("(void){};", CxxName(module_, axis.var)));
    }
  }

  /// What a task does that has been taken from the queue, whose number is the variable `task`.
  template <class F>
  void WriteTaken(const RaisedShare& share, TaskLoop& loop, const std::string& task,
                  const F& arrive) {
    out_.Open(fmt::format("if ({} < tasks) {{", task));
    loop.WriteCoordinates(task);
    WriteUses(share);
    arrive();
    out_.Close();
  }

  /// What it arrives at where data say, behind the waits for these.
  void WriteAfter(const RaisedShare& share) {
    if (TasksArriveAfter(share)) {
      tasks_.WriteAfterWaits(share);
      WriteArrivals(out_, scope_, share.after_arrivals);
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
      const Repeat* around = std::exchange(repeat_, &repeat);
      WriteNodes(repeat.body);
      repeat_ = around;
      out_.Close();
    }
  }

  TextWriter& out_;
  const KernelScope& scope_;
  const Module& module_;
  const RaisedKernel& kernel_;
  Role role_;
  Arch arch_;
  const Repeat* repeat_ = nullptr;  // the innermost around what is written
  // On the host one thread pushes and runs tasks, so a pushed task arrives behind its notifies
  // where a push may wait for them. What stands under `after` always does.
  bool arrives_behind_ = false;
  RoleTasks tasks_;
};

}  // namespace

void WriteWalk(TextWriter& out, const KernelScope& scope, Role role, Arch arch) {
  if (scope.raised().moves) {
    out.Line("[[maybe_unused]] i64 moved = 0;");
  }
  if (scope.module().mesh && role == Role::Consumer) {
    out.Line("[[maybe_unused]] bool peers_began = false;");
  }
  WalkWriter(out, scope, role, arch, false).WriteNest();
}

void WriteLaunch(TextWriter& out, const KernelScope& scope, const RaisedLaunch& launch, Role role,
                 Arch arch) {
  for (size_t i = 0; i < launch.iterations.size(); ++i) {
    out.Line(fmt::format("[[maybe_unused]] const i64 {} = params.iteration_{};",
                         CxxName(scope.module(), launch.iterations[i]), i));
  }
  WalkWriter(out, scope, role, arch, true).WriteLaunch(launch.share);
}

}  // namespace etc
