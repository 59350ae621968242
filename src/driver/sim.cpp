// `etc sim`: load → schedule → play each kernel at the sizes given, and say what waited for what.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "driver/commands.h"
#include "driver/kernel_selection.h"
#include "driver/scheduled_program.h"
#include "report/sim_report.h"
#include "simulator/kernel_cost.h"
#include "simulator/trace_of.h"
#include "support/files.h"

namespace etc {
namespace {

/// Nothing where the routing does not fit, which it says.
std::optional<SimulatedKernel> Played(const Module& module, KernelId id, Env sizes,
                                      const Target& target,
                                      const std::map<std::string, int64_t>& values,
                                      const std::optional<Routing>& routing,
                                      std::string* mismatch) {
  const Kernel& kernel = module.kernels[id];
  SimulatedKernel played{id, std::move(sizes), {}, {}};
  played.calls = CountCalls(module, kernel, played.sizes, target, values, Edges::Scheduled);
  if (routing) {
    played.routing = CostOfRouting(module, kernel, played.calls, played.sizes, *routing, mismatch);
    if (!played.routing) {
      return std::nullopt;
    }
    ApplyRouting(*played.routing, played.calls);
  }
  FindSpills(target, played.calls);
  played.simulation =
      Simulate(module, kernel, played.sizes, target, played.calls, Edges::Scheduled, Grain::Tasks);
  return played;
}

}  // namespace

ExitCode Execute(const SimOptions& options) {
  Session session(options.source.diagnostics);
  auto program = LoadScheduled(options, session);
  if (!program) {
    return session.Finish();
  }
  const auto& [module, sizes, values, routing] = *program;
  const Target& target = *options.lowering.schedule.target;
  KernelSelection selection(*module, {options.graph, sizes, values}, session.diagnostics());
  SimReport report{*module, target, sizes, values, {}, options.routing};
  trace::Trace trace;
  for (KernelId id : selection.Select()) {
    std::string mismatch;
    auto played = Played(*module, id, selection.SizesOf(id), target, values, routing, &mismatch);
    if (!played) {
      ReportMismatch(options, mismatch, session);
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
    bool ok = WriteStdout(options.json ? SimJson(report) : SimText(report), session.diagnostics());
    if (ok && !options.trace.empty()) {
      (void)WriteText(options.trace, trace::ToJson(trace), session.diagnostics());
    }
  }
  return session.Finish();
}

}  // namespace etc
