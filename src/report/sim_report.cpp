#include "report/sim_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "ir/walk.h"
#include "report/sizes_text.h"

namespace etc {
namespace {

using nlohmann::ordered_json;

constexpr std::pair<Idle, std::string_view> kIdleNames[] = {
    {Idle::Tasks, "no task"},     {Idle::Signals, "signals"}, {Idle::Bandwidth, "bandwidth"},
    {Idle::Throttle, "throttle"}, {Idle::Loader, "loader"},   {Idle::Cache, "L2"},
};
constexpr std::pair<Stall, std::string_view> kStallNames[] = {
    {Stall::Ring, "full ring"}, {Stall::Wait, "a wait"}, {Stall::Nothing, "nothing left"}};

double Percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

double TicketWait(const SimRun& run) { return run.idle[static_cast<size_t>(Idle::Tickets)]; }

double FloorOf(const SimReport& report, const SimulatedKernel& kernel) {
  return BytesReadOnce(report.module, kernel.calls, kernel.sizes) / report.target.stream_bytes;
}

const std::string& CalleeOf(const Module& module, const CallCost& call) {
  return module.devices[std::get<Share>(module.nodes[call.share]).callee].name;
}

std::string KernelText(const SimReport& report, const SimulatedKernel& kernel) {
  const Kernel& played = report.module.kernels[kernel.id];
  const Simulation& simulation = kernel.simulation;
  const SimRun& run = simulation.run;
  std::string text = fmt::format("kernel @{} of @{}", played.name, played.graph);
  text += SizesText(report.module, played, kernel.sizes, report.sizes);
  for (const auto& [name, value] : report.values) {
    text += fmt::format(", %{} = {}", name, value);
  }
  text += fmt::format(", on {} SMs of an {}{}{}\n", report.target.sms, report.target.product,
                      report.target.measured ? "" : " (published figures, not measured)",
                      report.hosts == 1 ? "" : fmt::format(", on {} hosts", report.hosts));
  if (kernel.routing) {
    text +=
        fmt::format("  routing    {}: {} tokens, {:.1f} of {} experts in a layer\n", report.routing,
                    kernel.routing->tokens, kernel.routing->mean_distinct, kernel.routing->experts);
  }
  double floor = FloorOf(report, kernel);
  text += fmt::format(
      "  time       {:.1f} us, {:.0f} % of it the floor of {:.1f} us; {:.1f} us before the first "
      "task\n",
      simulation.us, Percent(floor, simulation.us), floor, simulation.launch_us);
  if (simulation.us == simulation.power_us) {
    text +=
        fmt::format("  power      {:.1f} us at the full clock, for which {:.0f} W are too few\n",
                    simulation.full_clock_us, report.target.watts);
  }
  double all = run.makespan * static_cast<double>(report.target.sms);
  text += fmt::format("  SMs        busy {:.1f} %", Percent(run.busy, all));
  for (const auto& [cause, name] : kIdleNames) {
    text += fmt::format(", {} {:.1f} %", name, Percent(run.idle[static_cast<size_t>(cause)], all));
  }
  if (run.tickets > 0) {
    text += fmt::format(
        "\n  tickets    {} taken; an SM waited {:.1f} us for them in the mean, {:.1f} %",
        run.tickets, TicketWait(run) / static_cast<double>(report.target.sms),
        Percent(TicketWait(run), all));
  }
  text += "\n  loaders    held up by";
  for (const auto& [cause, name] : kStallNames) {
    text += fmt::format("{} {} {:.1f} %", cause == Stall::Ring ? "" : ",", name,
                        Percent(run.stalls[static_cast<size_t>(cause)], all));
  }
  text += fmt::format("; {:.2f} TB/s in the mean\n",
                      run.makespan > 0 ? run.bytes / run.makespan / 1e6 : 0.0);
  size_t width = 13;
  for (const CallCost& call : kernel.calls) {
    width = std::max(width, CalleeOf(report.module, call).size() + 1);
  }
  text += fmt::format("  {:<{}} {:>6} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6}\n", "critical path",
                      width, "times", "tasks", "work us", "data us", "L2 us", "signal us", "us",
                      "share");
  for (size_t i = 0; i < kernel.calls.size(); ++i) {
    const CallCost& call = kernel.calls[i];
    const PathTimes& path = simulation.path[i];
    const auto& share = std::get<Share>(report.module.nodes[call.share]);
    if (call.tasks == 0 && ReadsTensor(report.module, share.axes)) {
      text += fmt::format("  @{}: data say how many tasks it has, so it was not played\n",
                          CalleeOf(report.module, call));
    }
    if (call.tasks == 0 || call.iterations == 0) {
      continue;
    }
    auto times = static_cast<double>(call.iterations);
    text +=
        fmt::format("  {:<{}} {:>6} {:>7} {:>8.2f} {:>8.2f} {:>8.2f} {:>9.2f} {:>8.2f} {:>5.0f}%\n",
                    "@" + CalleeOf(report.module, call), width, call.iterations, call.tasks,
                    path.work / times, path.data / times, path.cache / times, path.signals / times,
                    path.Sum() / times, Percent(path.Sum(), simulation.us));
  }
  return text;
}

double Rounded(double value) { return std::round(value * 1000) / 1000; }

ordered_json KernelJson(const SimReport& report, const SimulatedKernel& kernel) {
  const Simulation& simulation = kernel.simulation;
  ordered_json dims = ordered_json::object(), idle, stalls;
  for (const auto& [dim, value] : kernel.sizes) {
    dims[report.module.symbols[dim].name] = value;
  }
  for (const auto& [cause, name] : kIdleNames) {
    idle[std::string(name)] = Rounded(simulation.run.idle[static_cast<size_t>(cause)]);
  }
  for (const auto& [cause, name] : kStallNames) {
    stalls[std::string(name)] = Rounded(simulation.run.stalls[static_cast<size_t>(cause)]);
  }
  ordered_json calls = ordered_json::array();
  for (size_t i = 0; i < kernel.calls.size(); ++i) {
    const PathTimes& path = simulation.path[i];
    calls.push_back({{"call", CalleeOf(report.module, kernel.calls[i])},
                     {"times", kernel.calls[i].iterations},
                     {"tasks", kernel.calls[i].tasks},
                     {"work_us", Rounded(path.work)},
                     {"data_us", Rounded(path.data)},
                     {"cache_us", Rounded(path.cache)},
                     {"signals_us", Rounded(path.signals)}});
  }
  if (simulation.run.tickets > 0) {
    idle["tickets"] = Rounded(TicketWait(simulation.run));
  }
  return {{"kernel", report.module.kernels[kernel.id].name},
          {"dims", dims},
          {"us", Rounded(simulation.us)},
          {"full_clock_us", Rounded(simulation.full_clock_us)},
          {"floor_us", Rounded(FloorOf(report, kernel))},
          {"busy_us", Rounded(simulation.run.busy)},
          {"idle_us", idle},
          {"loader_stalls_us", stalls},
          {"bytes", std::round(simulation.run.bytes)},
          {"critical_path", calls}};
}

}  // namespace

std::string SimText(const SimReport& report) {
  std::string text;
  for (const SimulatedKernel& kernel : report.kernels) {
    text += KernelText(report, kernel);
  }
  return text;
}

std::string SimJson(const SimReport& report) {
  ordered_json kernels = ordered_json::array();
  for (const SimulatedKernel& kernel : report.kernels) {
    kernels.push_back(KernelJson(report, kernel));
  }
  return ordered_json{{"target", report.target.name}, {"kernels", kernels}}.dump(2) + "\n";
}

}  // namespace etc
