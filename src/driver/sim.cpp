// `etc sim`: load → schedule → play each kernel at the sizes given, and say what waited for what.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "driver/commands.h"
#include "driver/kernel_selection.h"
#include "driver/output_files.h"
#include "driver/scheduled_program.h"
#include "ir/peers.h"
#include "report/sim_report.h"
#include "simulator/trace_of.h"
#include "support/files.h"

namespace etc {
namespace {

/// The kernel on a rank of one of so many hosts. Nothing where it has too many tasks, or where the
/// routing does not fit, which it says.
std::optional<SimulatedKernel> Played(const ScheduledProgram& program, KernelId id, Env sizes,
                                      const Target& one_host, int64_t hosts, std::string* mismatch,
                                      Diagnostics& diagnostics) {
  const Module& module = *program.module;
  const Kernel& kernel = module.kernels[id];
  const int64_t ranks = RanksAt(module, sizes);
  const Target target = hosts == 1 ? one_host : OverHosts(one_host, hosts, ranks);
  SimulatedKernel played{id, std::move(sizes), {}, {}};
  played.calls = CountCalls(module, kernel, played.sizes, target, program.values, Edges::Scheduled);
  if (double tasks = TasksOf(played.calls); tasks > kMostPlayedTasks) {
    diagnostics.Error(DiagnosticKind::CommandLine, {},
                      fmt::format("kernel `@{}` has {:.4g} tasks at these sizes, and `etc sim` "
                                  "plays {:.0f} at most",
                                  kernel.name, tasks, kMostPlayedTasks));
    return std::nullopt;
  }
  if (program.routing) {
    played.routing =
        CostOfRouting(module, kernel, played.calls, played.sizes, *program.routing, mismatch);
    if (!played.routing) {
      return std::nullopt;
    }
    ApplyRouting(*played.routing, played.calls);
  }
  if (hosts > 1) {
    SumByNetwork(ranks, played.calls);
  }
  FindSpills(target, played.calls);
  played.simulation =
      Simulate(module, kernel, played.sizes, target, played.calls, Edges::Scheduled, Grain::Tasks);
  return played;
}

}  // namespace

ExitCode Execute(const SimOptions& options) {
  Session session(options.source.diagnostics);
  std::vector<std::string> read = FilesOf(options.source);
  read.push_back(options.routing);
  if (!CheckOutputs({options.trace}, read, session) ||
      !CheckFolder(options.trace, session.diagnostics())) {
    return session.Finish();
  }
  auto program = LoadScheduled(options, session);
  if (!program) {
    return session.Finish();
  }
  const auto& [module, sizes, values, routing] = *program;
  const Target& one_host = *options.lowering.schedule.target;
  KernelSelection selection(*module, {options.graph, sizes, values}, session.diagnostics());
  SimReport report{*module, one_host, sizes, values, {}, options.routing, options.hosts};
  trace::Trace trace;
  for (KernelId id : selection.Select()) {
    std::string mismatch;
    Env kernel_sizes = selection.SizesOf(id);
    const int64_t ranks = RanksAt(*module, kernel_sizes);
    if (ranks % options.hosts != 0) {
      session.diagnostics().Error(
          DiagnosticKind::CommandLine, {},
          fmt::format("`--hosts {}`: {} rank{} cannot be divided among so many", options.hosts,
                      ranks, ranks == 1 ? "" : "s"));
      return session.Finish();
    }
    auto played = Played(*program, id, std::move(kernel_sizes), one_host, options.hosts, &mismatch,
                         session.diagnostics());
    if (!played) {
      if (!mismatch.empty()) {
        ReportMismatch(options, mismatch, session);
      }
      return session.Finish();
    }
    if (played->simulation.run.stuck) {
      session.diagnostics().Error(
          DiagnosticKind::Data, {},
          fmt::format("kernel `@{}` does not end: a task waits for what no task notifies",
                      module->kernels[id].name));
      return session.Finish();
    }
    if (!options.trace.empty()) {
      AddTo(trace, *module, module->kernels[id], played->sizes, played->calls, played->simulation);
    }
    report.kernels.push_back(std::move(*played));
  }
  if (!report.kernels.empty()) {
    // A trace on standard output stands there alone, so that it can be read.
    bool ok = options.trace == "-" ||
              WriteStdout(options.json ? SimJson(report) : SimText(report), session.diagnostics());
    if (ok && !options.trace.empty()) {
      (void)WriteText(options.trace, trace::ToJson(trace), session.diagnostics());
    }
  }
  return session.Finish();
}

}  // namespace etc
