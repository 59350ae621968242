#include "emit/cuda_entries.h"

#include <fmt/format.h>

#include "emit/entries.h"
#include "target/arch.h"

namespace etc {
namespace {

/// For reports only: no code reads it.
void WriteRing(TextWriter& out, const std::string& entry, const std::string& memory) {
  out.Line(fmt::format(
      "extern \"C\" __device__ int ring_of_{0}[2] = {{{1}::kSlots, {1}::kRingSlotBytes}};", entry,
      memory));
}

void OpenEntry(TextWriter& out, const Kernel& kernel, const std::string& space,
               const std::string& entry) {
  out.Line(fmt::format("extern \"C\" __global__ void __launch_bounds__({}, 1)",
                       ThreadsOf(kernel.consumer_warps)));
  out.Open(fmt::format("{}(const __grid_constant__ {}::Params params) {{", entry, space));
}

/// The checks of the parameters, by all threads.
void WriteCheckCall(TextWriter& out, const std::string& space) {
  out.Line("const etc::Checks checks = etc::OpenChecks(params.event_memory);");
  out.Line(
      fmt::format("{}::CheckParams(params, checks, etc::i64(blockIdx.x) * blockDim.x + "
                  "threadIdx.x, etc::i64(gridDim.x) * blockDim.x);",
                  space));
}

void WriteLeave(TextWriter& out, const char* when) {
  out.Open(fmt::format("if (checks.{}()) {{", when));
  out.Line("return;");
  out.Close();
}

/// In front of the barrier at the end of Block's constructor.
void WriteOpenProfile(TextWriter& out, const Kernel& kernel) {
  if (kernel.profile) {
    out.Line("etc::OpenProfile();");
  }
}

/// `others`: what is taken off the number of a spare thread, since some have a role.
void WriteWatchRoles(TextWriter& out, const std::string& others = "") {
  out.Line(
      fmt::format("etc::WatchRoles(block.SpareThread(){}, params.Profile(), "
                  "params.profile_records, blockIdx.x);",
                  others));
}

void WritePersistent(TextWriter& out, const RaisedKernel& raised, const std::string& space) {
  const Kernel& kernel = raised.kernel;
  out.Line("");
  WriteRing(out, EntryName(kernel), space + "::CtaMemory");
  OpenEntry(out, kernel, space, EntryName(kernel));
  if (HasChecks(kernel)) {
    WriteCheckCall(out, space);
    out.Line("__syncthreads();");
    out.Open("if (threadIdx.x == 0) {");
    out.Line("checks.Meet(gridDim.x);");
    out.Close();
    out.Line("__syncthreads();");
    WriteLeave(out, "Stopped");
  } else if (kernel.watchdog) {
    // The launch before has ended without what it waited for, and nobody has asked since.
    out.Line("const etc::Checks checks = etc::OpenChecks(params.event_memory);");
    WriteLeave(out, "Failed");
  }
  if (raised.module.mesh) {  // behind the failure of a launch before: this one begins nothing
    out.Open("if (blockIdx.x == 0 && threadIdx.x == 0) {");
    out.Line("params.dims().peers.Begin(params.event_memory);");
    out.Close();
  }
  // The epoch must be read before the barrier at the end of Block's constructor.
  out.Line("etc::Events events(params.event_memory, params.event_capacity);");
  out.Line(fmt::format("const auto flags = {}::OpenFlags(params);", space));
  const bool dispatches = raised.most_ahead > 0;
  const char* tickets = dispatches ? ", tickets" : "";
  auto make_tickets = [&] {
    if (dispatches) {
      out.Line(fmt::format("etc::Tickets tickets = {}::CtaTickets::MakeTickets();", space));
    }
  };
  if (dispatches) {
    out.Line(fmt::format("{}::CtaTickets::Init();", space));
  }
  WriteOpenProfile(out, kernel);
  if (raised.cta_counters > 0) {
    out.Line(fmt::format("etc::CtaEvents(events, {}).Clear({});", raised.block_bytes,
                         raised.cta_counters));
  }
  out.Line(fmt::format("{}::CtaMemory block;", space));
  out.Open("if (block.IsHelper()) {");
  out.Open("if (block.IsLoader()) {");
  out.Line("etc::Loader loader = block.MakeLoader();");
  make_tickets();
  out.Line(fmt::format("{}::Load(params, events, {}loader{}, blockIdx.x, gridDim.x);", space,
                       raised.loaders_read_flags ? "flags.set, " : "", tickets));
  out.Reopen("} else if (block.IsEpilogueWarp()) {");
  out.Line("etc::EpilogueWarp epilogue_warp = block.MakeEpilogueWarp();");
  make_tickets();
  out.Line(
      fmt::format("{}::Reduce(params, events, flags.set, epilogue_warp{}, blockIdx.x, gridDim.x);",
                  space, tickets));
  if (dispatches) {
    out.Reopen(fmt::format("}} else if ({}::CtaTickets::IsScheduler()) {{", space));
    out.Line(fmt::format("etc::Scheduler scheduler = {}::CtaTickets::MakeScheduler();", space));
    out.Line(fmt::format("{}::Schedule(params, events, scheduler, blockIdx.x, gridDim.x);", space));
  }
  out.Reopen("} else {");
  // The scheduler is the first of the spare warps.
  std::string others = dispatches ? fmt::format(" - {}::CtaTickets::kThreads", space) : "";
  out.Line(fmt::format("flags.Clear(block.SpareThread(){0}, block.kSpareThreads{0});", others));
  if (kernel.profile) {
    WriteWatchRoles(out, others);
  }
  out.Close();
  out.Reopen("} else {");
  out.Line("etc::Consumer consumer = block.MakeConsumer();");
  make_tickets();
  out.Line(fmt::format("{}::Consume(params, events, flags.set, consumer{}, blockIdx.x, gridDim.x);",
                       space, tickets));
  out.Line(fmt::format("events.Finish(consumer, flags, {}::FlaggedBytes(params));", space));
  out.Close();
  out.Close();
}

void WriteLaunch(TextWriter& out, const Kernel& kernel, const std::string& space, size_t index,
                 const std::string& entry) {
  std::string memory = fmt::format("{}::CtaMemory{}", space, index);
  out.Line("");
  WriteRing(out, entry, memory);
  OpenEntry(out, kernel, space, entry);
  out.Line("etc::AllowNextLaunch();");
  if (HasChecks(kernel)) {
    // The loader, too, must not use indices that have not been checked yet.
    out.Line("etc::AwaitEarlierLaunches();");
    out.Line("const etc::Checks checks = etc::OpenChecks(params.event_memory);");
    WriteLeave(out, "Failed");
  }
  WriteOpenProfile(out, kernel);
  out.Line(fmt::format("{} block;", memory));
  out.Open("if (block.IsHelper()) {");
  out.Open("if (block.IsLoader()) {");
  out.Line("etc::Loader loader = block.MakeLoader();");
  out.Line(fmt::format("{}::Load{}(params, loader, blockIdx.x, gridDim.x);", space, index));
  out.Reopen("} else if (block.IsEpilogueWarp()) {");
  out.Line("etc::EpilogueWarp epilogue_warp = block.MakeEpilogueWarp();");
  out.Line("etc::AwaitEarlierLaunches();");
  out.Line(
      fmt::format("{}::Reduce{}(params, epilogue_warp, blockIdx.x, gridDim.x);", space, index));
  if (kernel.profile) {
    out.Reopen("} else {");
    WriteWatchRoles(out);
  }
  out.Close();
  out.Reopen("} else {");
  out.Line("etc::Consumer consumer = block.MakeConsumer();");
  out.Line(fmt::format("{}::Prefetch{}(params, consumer, blockIdx.x, gridDim.x);", space, index));
  out.Line("etc::AwaitEarlierLaunches();");
  out.Line(fmt::format("{}::Consume{}(params, consumer, blockIdx.x, gridDim.x);", space, index));
  out.Close();
  out.Close();
}

void WriteLaunches(TextWriter& out, const RaisedKernel& raised, const std::string& space) {
  const Module& module = raised.module;
  const Kernel& kernel = raised.kernel;
  if (HasChecks(kernel)) {
    out.Line("");
    OpenEntry(out, kernel, space, CheckName(module, kernel));
    out.Line("etc::AllowNextLaunch();");
    WriteCheckCall(out, space);
    out.Close();
  }
  for (size_t i = 0; i < raised.launches.size(); ++i) {
    const Share& share = raised.shares.at(raised.launches[i].share).share;
    WriteLaunch(out, kernel, space, i, LaunchName(module, kernel, i, share));
  }
}

}  // namespace

void WriteEntries(TextWriter& out, const RaisedKernel& raised) {
  std::string space = "etc::kernel_" + raised.kernel.name;
  if (raised.kernel.schedule == ScheduleKind::Kernels) {
    WriteLaunches(out, raised, space);
  } else {
    WritePersistent(out, raised, space);
  }
}

}  // namespace etc
