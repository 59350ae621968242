#include "emit/cxx_role_tasks.h"

#include <fmt/format.h>

#include "emit/cxx_checks.h"

namespace etc {
namespace {

/// The name of a role's object.
const char* NameOf(Role role) {
  return role == Role::EpilogueWarp ? "epilogue_warp"
         : role == Role::Loader     ? "loader"
         : role == Role::Scheduler  ? "scheduler"
                                    : "consumer";
}

/// The clock cycles between two prefetches, or 0.
int64_t PauseOf(const RaisedShare& share) {
  return share.throttle ? share.throttle->prefetch.value_or(0) : 0;
}

/// The arguments of Loader::SetThrottle. Prefetches of a share whose loader waits for what says
/// what it copies are for that wait, not for a full ring.
std::string ThrottleArguments(const RaisedShare& share) {
  if (!share.throttle) {
    return "Loader::kNoLimit, 0";
  }
  const Throttle& throttle = *share.throttle;
  std::string text = fmt::format("{}, {}", throttle.in_flight, throttle.interval);
  int64_t pause = share.behind_wait.empty() ? PauseOf(share) : 0;
  if (throttle.ahead || pause > 0) {
    text += throttle.ahead ? fmt::format(", {}", *throttle.ahead) : ", Loader::kNoLimit";
  }
  return pause > 0 ? text + fmt::format(", {}", pause) : text;
}

}  // namespace

std::string ReductionName(const Device& device) {
  return fmt::format("ReductionOf<Impl_{}>", device.name);
}

RoleTasks::RoleTasks(TextWriter& out, const KernelScope& scope, Role role, Arch arch, bool launch)
    : out_(out),
      scope_(scope),
      kernel_(scope.raised()),
      role_(role),
      arch_(arch),
      launch_(launch),
      signals_(out, scope, NameOf(role), role != Role::Scheduler),
      spans_(out, scope, NameOf(role), role != Role::Scheduler) {}

void RoleTasks::Write(const RaisedShare& share, const Device& device, TaskLoop& loop) {
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
}

void RoleTasks::WriteWaits(const std::vector<RaisedSignal>& waits,
                           const std::vector<OrderPart>& place) {
  if (!waits.empty()) {
    signals_.WriteWaits(waits, place);
  }
}

/// The waits that must precede reading the ranges of the tasks, or what the loader is to copy,
/// from tensors.
void RoleTasks::WriteBeforeRanges(const RaisedShare& share) {
  if (share.roles[static_cast<size_t>(role_)].after_launches) {
    out_.Line("AwaitEarlierLaunches();");
    spans_.Skip();
  }
  if (!share.range_waits.empty()) {
    WriteWaits(share.range_waits, share.place);
    out_.Line(fmt::format("{}.Sync();", NameOf(role_)));
  }
  WriteChecks(share.range_checks);
}

/// The waits that must precede reading where a task arrives from tensors.
void RoleTasks::WriteAfterWaits(const RaisedShare& share) {
  if (!share.after_waits.empty()) {
    WriteWaits(share.after_waits, share.place);
    out_.Line(fmt::format("{}.Sync();", NameOf(role_)));
    spans_.Skip();
  }
}

/// By the consumers of each SM, of all elements: others may be as far as their tasks.
void RoleTasks::WriteChecks(const std::vector<RaisedCheck>& checks) {
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

void RoleTasks::WriteLoads(const RaisedShare& share, const Device& device, TaskLoop& loop) {
  out_.Line(fmt::format("loader.SetThrottle({});", ThrottleArguments(share)));
  bool behind = !share.behind_wait.empty();
  if (behind) {
    out_.Line(
        share.next.empty()
            ? fmt::format("Impl_{}::Source source(loader, args);", device.name)
            : fmt::format("auto source = MakeSource<Impl_{}::Source>(0, loader, args, {}, ahead);",
                          device.name, PauseOf(share)));
  }
  bool fetches = !share.fetched.empty();
  if (fetches && !share.hands_loads) {
    WriteFetchWaits(share.enter_waits, share);
  }
  bool enters = share.hands_loads && (launch_ || !share.enter_waits.empty());
  if (enters) {
    out_.Line("bool entered = false;");
  }
  loop.Open(loop.Step());
  if (share.hands_loads) {
    out_.Open("const auto await = [&](auto& loader) {");
  }
  if (enters) {
    out_.Open("if (!entered) {");
    if (launch_) {
      out_.Line("AwaitEarlierLaunches();");
    }
    WriteFetchWaits(share.enter_waits, share);
    out_.Line("entered = true;");
    out_.Close();
  }
  if (fetches) {
    WriteFetchWaits(share.waits, share);
  }
  if (share.hands_loads) {
    out_.Close("};");
  }
  std::string arguments = "loader, args" + loop.Coordinates();
  out_.Line(behind ? fmt::format("source.Load({});", arguments)
            : share.hands_loads
                ? fmt::format("LoadTask<Impl_{}>(await, {});", device.name, arguments)
                : fmt::format("Impl_{}::Load({});", device.name, arguments));
  spans_.EndTask(share);
  loop.Close();
}

/// The loader's waits for what tasks have written and tensor copies are to read.
void RoleTasks::WriteFetchWaits(const std::vector<RaisedSignal>& waits, const RaisedShare& share) {
  if (!waits.empty()) {
    WriteWaits(waits, share.place);
    out_.Line("loader.Sync();");
    out_.Line("CopyFence();");
  }
}

/// For the first task.
void RoleTasks::WritePrefetch(const RaisedShare& share, const Device& device, TaskLoop& loop) {
  if (!share.prefetches) {
    return;
  }
  out_.Open("{");
  loop.WriteCoordinates();
  out_.Line(
      fmt::format("PrefetchTask<Impl_{}>(0, consumer, args{});", device.name, loop.Coordinates()));
  out_.Close();
}

void RoleTasks::WriteTasks(const RaisedShare& share, const Device& device, TaskLoop& loop) {
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
void RoleTasks::WriteTaskWaits(const RaisedShare& share, const Device& device) {
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
void RoleTasks::WriteReductions(const RaisedShare& share, const Device& device, TaskLoop& loop) {
  std::string make = fmt::format("{} reduction(epilogue_warp, args);", ReductionName(device));
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
void RoleTasks::WritePreparations(const RaisedShare& share, const Device& device, TaskLoop& loop,
                                  std::string_view count) {
  out_.Open(fmt::format("if constexpr (PreparesTasks<{}>::value) {{", ReductionName(device)));
  if (share.tickets) {
    OpenLoop(out_, arch_,
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
void RoleTasks::WriteNotifies(const std::vector<RaisedSignal>& signals, const Device& device,
                              const std::string& amount) {
  if (signals.empty()) {
    return;
  }
  bool guarded = arch_ != Arch::Host && role_ == Role::Consumer;
  if (guarded) {
    out_.Open(fmt::format("if constexpr (!{}::kExists) {{", ReductionName(device)));
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

}  // namespace etc
