// `etc explain`: load → schedule → what the cost model says of each kernel, as text or as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "driver/assignments.h"
#include "driver/commands.h"
#include "driver/files.h"
#include "driver/front.h"
#include "driver/pipeline.h"
#include "driver/sizes.h"
#include "schedule/cost_model.h"
#include "schedule/lower.h"

namespace etc {
namespace {

using Json = nlohmann::ordered_json;

bool Contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

class Explanation {
 public:
  Explanation(Module& module, std::map<std::string, int64_t> sizes,
              std::map<std::string, int64_t> values, const ExplainOptions& options,
              Diagnostics& diagnostics)
      : module_(module),
        sizes_(std::move(sizes)),
        values_(std::move(values)),
        options_(options),
        diagnostics_(diagnostics) {}

  /// The kernels that serve the sizes asked for; empty after an error.
  std::vector<KernelId> Select() {
    std::vector<std::string> dims, graphs, integers;
    bool sizes_ok = true;
    for (SymbolId symbol : module_.symbols.Ids()) {
      if (module_.symbols[symbol].kind == SymbolKind::Dim) {
        dims.push_back(module_.symbols[symbol].name);
        auto size = sizes_.find(dims.back());
        sizes_ok &=
            size == sizes_.end() || CheckSize(module_, symbol, size->second, "--dim", diagnostics_);
      }
    }
    std::vector<KernelId> kernels;
    for (KernelId id : module_.kernels.Ids()) {
      const std::string& graph = module_.kernels[id].graph;
      if (!Contains(graphs, graph)) {
        graphs.push_back(graph);
      }
      for (TensorId param : module_.kernels[id].params) {
        const Tensor& tensor = module_.tensors[param];
        if ((tensor.type == DType::I32 || tensor.type == DType::I64) &&
            !Contains(integers, tensor.name)) {
          integers.push_back(tensor.name);
        }
      }
      if ((options_.graph.empty() || options_.graph == graph) && Serves(id)) {
        kernels.push_back(id);
      }
    }
    bool dims_ok = CheckNames(sizes_, "--dim", "dimension", dims, diagnostics_);
    bool values_ok = CheckNames(values_, "--value", "integer parameter", integers, diagnostics_);
    bool graph_ok = options_.graph.empty() ||
                    CheckName(options_.graph, "--graph", "graph", graphs, diagnostics_);
    if (!sizes_ok || !dims_ok || !values_ok || !graph_ok) {
      return {};
    }
    if (kernels.empty()) {
      diagnostics_.Error(DiagnosticKind::CommandLine, {}, "no kernel serves these sizes");
    }
    return kernels;
  }

  std::string Text(const std::vector<KernelId>& kernels) {
    std::string text;
    for (KernelId id : kernels) {
      text += (text.empty() ? "" : "\n") + Text(id);
    }
    return text;
  }

  std::string JsonText(const std::vector<KernelId>& kernels) {
    Json json = {
        {"machine",
         {{"name", "H200"}, {"sms", machine_.sms}, {"stream_bytes_per_us", machine_.stream_bytes}}},
        {"kernels", Json::array()}};
    for (KernelId id : kernels) {
      json["kernels"].push_back(ToJson(id));
    }
    return json.dump(2) + "\n";
  }

 private:
  /// The range of a dimension in a kernel.
  Interval RangeIn(const Kernel& kernel, SymbolId dim) const {
    for (const Where& where : kernel.where) {
      if (where.dim == dim) {
        return {EvaluateInt(module_, where.lo, {}).value(),
                EvaluateInt(module_, where.hi, {}).value()};
      }
    }
    return RangeOfDim(module_, dim).value();
  }

  bool Serves(KernelId id) const {
    for (const auto& [dim, value] : SizesOf(id)) {
      Interval range = RangeIn(module_.kernels[id], dim);
      if (value < range.lo || value > range.hi) {
        return false;
      }
    }
    return true;
  }

  /// The size asked for, or the least that the kernel serves.
  Env SizesOf(KernelId id) const {
    Env dims;
    for (SymbolId symbol : module_.symbols.Ids()) {
      if (module_.symbols[symbol].kind == SymbolKind::Dim) {
        auto size = sizes_.find(module_.symbols[symbol].name);
        dims[symbol] =
            size == sizes_.end() ? RangeIn(module_.kernels[id], symbol).lo : size->second;
      }
    }
    return dims;
  }

  KernelCost Cost(const Kernel& kernel, const Env& sizes) const {
    return CostOf(module_, kernel, sizes, "sm_90a", machine_, values_);
  }

  const std::string& CalleeOf(NodeId share) const {
    return module_.devices[std::get<Share>(module_.nodes[share]).callee].name;
  }

  std::string ReasonOf(KernelId kernel, const EdgeCost& edge) {
    switch (edge.mechanism) {
      case Mechanism::None:
        return module_.kernels[kernel].schedule == ScheduleKind::Kernels
                   ? "the launch that writes it has ended"
                   : "no event orders it: each SM runs its own tasks in order";
      case Mechanism::Tag:
        return "little of it is read, and all that use it take tags";
      default:
        return WhyNotTagged(module_, kernel, edge.tensor, options_.lowering.schedule);
    }
  }

  std::string Text(KernelId id) {
    const Kernel& kernel = module_.kernels[id];
    Env dims = SizesOf(id);
    KernelCost cost = Cost(kernel, dims);
    double us = cost.times.Sum();
    std::string text = fmt::format("kernel @{} of @{}", kernel.name, kernel.graph);
    for (const auto& [dim, value] : dims) {
      const std::string& name = module_.symbols[dim].name;
      text += fmt::format(", {} = {}{}", name, value, sizes_.contains(name) ? "" : " (the least)");
    }
    for (const auto& [name, value] : values_) {
      text += fmt::format(", %{} = {}", name, value);
    }
    text += fmt::format(", on {} SMs of an H200\n", machine_.sms);
    text +=
        fmt::format("  floor      {:.1f} us: {:.1f} MB read once at {:.2f} TB/s; {:.3f} GFLOP\n",
                    cost.floor_us, cost.bytes / 1e6, machine_.stream_bytes / 1e6, cost.flops / 1e9);
    text += fmt::format("  predicted  {:.1f} us, {:.0f} % of it the floor; {}\n", us,
                        Percent(cost.floor_us, us), LimitsText(cost.times));
    if (kernel.schedule == ScheduleKind::Kernels) {
      text += "             without the time from one launch to the next, which is not modelled\n";
    }
    text += LoaderText(kernel);
    size_t width = 4;
    for (const StageCost& stage : cost.stages) {
      width = std::max(width, CalleeOf(stage.share).size() + 1);
    }
    text += fmt::format(
        "  {:<{}} {:>6} {:>7} {:>6} {:>7} {:>9} {:>8} {:>8} {:>9} {:>8} {:>8} {:>8} {:>6}  {}\n",
        "call", width, "times", "tasks", "per SM", "balance", "stream MB", "read MB", "L2 MB",
        "MFLOP", "floor us", "chain us", "us", "share", "limit");
    for (const StageCost& stage : cost.stages) {
      double stage_us = stage.times.Sum();
      text += fmt::format(
          "  {:<{}} {:>6} {:>7} {:>6} {:>6.0f}% {:>9.3f} {:>8.3f} {:>8.3f} {:>9.2f} {:>8.2f} "
          "{:>8.2f} {:>8.2f} {:>5.0f}%  {}\n",
          "@" + CalleeOf(stage.share), width, stage.iterations, stage.tasks, stage.tasks_per_sm,
          100 * stage.balance, stage.streamed_bytes / 1e6, stage.read_bytes / 1e6,
          stage.fetched_bytes / 1e6, stage.flops / 1e6, stage.floor_us, stage.latency_us, stage_us,
          Percent(static_cast<double>(stage.iterations) * stage_us, us),
          Spelling(stage.times.Longest()));
      if (stage.generated) {
        text += "    has no implementation: predicted as if tuned, which a generated body is not\n";
      }
      for (const EdgeCost& edge : stage.edges) {
        text += fmt::format("    %{} by {}: {}\n", module_.tensors[edge.tensor].name,
                            Spelling(edge.mechanism), ReasonOf(id, edge));
      }
    }
    return text;
  }

  static double Percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

  /// What sets the time, the longest first, down to half a percent.
  static std::string LimitsText(const Times& times) {
    std::vector<std::string> parts;
    Times left = times;
    for (Limit limit = left.Longest(); Percent(left[limit], times.Sum()) >= 0.5;
         limit = left.Longest()) {
      parts.push_back(
          fmt::format("{} {:.0f} %", Spelling(limit), Percent(times[limit], times.Sum())));
      left[limit] = 0;
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  std::string LoaderText(const Kernel& kernel) const {
    std::vector<PaceChoice> choices = ChoosePaces(module_, kernel);
    if (choices.empty()) {
      return "  loader     streams nothing\n";
    }
    std::string text = fmt::format(
        "  loader     {}\n",
        kernel.depth ? fmt::format("at most {} slots, and no more than {} bytes hold",
                                   *kernel.depth, kernel.shared_bytes)
                     : fmt::format("as many slots as {} bytes hold", kernel.shared_bytes));
    for (const PaceChoice& choice : choices) {
      text += fmt::format("             {}: {}\n", RunText(choice), PaceText(kernel, choice));
    }
    return text;
  }

  std::string RunText(const PaceChoice& choice) const {
    return choice.repeat
               ? fmt::format(
                     "in each {}",
                     module_.symbols[std::get<Repeat>(module_.nodes[choice.repeat]).var].name)
               : "outside of repeats";
  }

  /// The pace of a run of shares, which may have been changed by hand, and the model's reason.
  std::string PaceText(const Kernel& kernel, const PaceChoice& choice) const {
    std::vector<std::string> paces;
    for (NodeId share : choice.shares) {
      std::string text = PaceText(PaceOf(kernel, share));
      if (!Contains(paces, text)) {
        paces.push_back(std::move(text));
      }
    }
    std::string model = PaceText(choice.pace);
    bool chosen = paces == std::vector{model};
    return fmt::format("{}\n               {}: {}", fmt::join(paces, " or "),
                       chosen ? "chosen at the least sizes" : "the model would have " + model,
                       choice.reason);
  }

  static std::string PaceText(const std::optional<Pace>& pace) {
    if (!pace) {
      return "nothing holds it back";
    }
    std::string text =
        fmt::format("at most {} on their way, {} cycles between two", pace->cap, pace->gap);
    return pace->ahead ? text + fmt::format(", {} ahead of a share", *pace->ahead) : text;
  }

  const std::optional<Pace>& PaceOf(const Kernel& kernel, NodeId share) const {
    const auto& own = std::get<Share>(module_.nodes[share]).pace;
    return own ? own : kernel.pace;
  }

  /// Nanoseconds are more than the model knows.
  static double Rounded(double us) { return std::round(us * 1000) / 1000; }

  static Json ToJson(const Times& times) {
    Json json = Json::object();
    for (size_t i = 0; i < kLimits; ++i) {
      json[std::string(Spelling(static_cast<Limit>(i)))] = Rounded(times.us[i]);
    }
    return json;
  }

  static Json ToJson(const std::optional<Pace>& pace) {
    Json json = {{"cap", nullptr}, {"gap", nullptr}, {"ahead", nullptr}};
    if (pace) {
      json["cap"] = pace->cap;
      json["gap"] = pace->gap;
      if (pace->ahead) {
        json["ahead"] = *pace->ahead;
      }
    }
    return json;
  }

  Json ToJson(KernelId id) {
    const Kernel& kernel = module_.kernels[id];
    Env sizes = SizesOf(id);
    KernelCost cost = Cost(kernel, sizes);
    Json dims = Json::object();
    for (const auto& [dim, value] : sizes) {
      dims[module_.symbols[dim].name] = value;
    }
    Json calls = Json::array();
    for (const StageCost& stage : cost.stages) {
      Json edges = Json::array();
      for (const EdgeCost& edge : stage.edges) {
        edges.push_back({{"tensor", module_.tensors[edge.tensor].name},
                         {"mechanism", Spelling(edge.mechanism)},
                         {"reason", ReasonOf(id, edge)}});
      }
      calls.push_back({{"callee", CalleeOf(stage.share)},
                       {"generated", stage.generated},
                       {"times", stage.iterations},
                       {"tasks", stage.tasks},
                       {"tasks_per_sm", stage.tasks_per_sm},
                       {"balance", Rounded(stage.balance)},
                       {"streamed_bytes", std::llround(stage.streamed_bytes)},
                       {"read_bytes", std::llround(stage.read_bytes)},
                       {"fetched_bytes", std::llround(stage.fetched_bytes)},
                       {"flops", std::llround(stage.flops)},
                       {"floor_us", Rounded(stage.floor_us)},
                       {"chain_us", Rounded(stage.latency_us)},
                       {"predicted_us", Rounded(stage.times.Sum())},
                       {"limits_us", ToJson(stage.times)},
                       {"edges", edges}});
    }
    Json loader = nullptr;
    if (auto choices = ChoosePaces(module_, kernel); !choices.empty()) {
      loader = {{"shared_bytes", kernel.shared_bytes}, {"depth", nullptr}, {"runs", Json::array()}};
      if (kernel.depth) {
        loader["depth"] = *kernel.depth;
      }
      for (const PaceChoice& choice : choices) {
        Json shares = Json::array();
        for (NodeId share : choice.shares) {
          Json entry = {{"callee", CalleeOf(share)}};
          entry.update(ToJson(PaceOf(kernel, share)));
          shares.push_back(std::move(entry));
        }
        loader["runs"].push_back({{"shares", std::move(shares)},
                                  {"model", ToJson(choice.pace)},
                                  {"reason", choice.reason}});
      }
    }
    return {{"name", kernel.name},
            {"graph", kernel.graph},
            {"dims", dims},
            {"values", values_},
            {"bytes", std::llround(cost.bytes)},
            {"flops", std::llround(cost.flops)},
            {"floor_us", Rounded(cost.floor_us)},
            {"predicted_us", Rounded(cost.times.Sum())},
            {"limits_us", ToJson(cost.times)},
            {"loader", loader},
            {"calls", calls}};
  }

  Module& module_;
  std::map<std::string, int64_t> sizes_, values_;
  const ExplainOptions& options_;
  Diagnostics& diagnostics_;
  Machine machine_;
};

}  // namespace

ExitCode Execute(const ExplainOptions& options) {
  Session session(options.source.diagnostics);
  auto sizes = ParseIntAssignments(options.dims, "--dim", session.diagnostics());
  auto values = ParseIntAssignments(options.values, "--value", session.diagnostics());
  auto module = sizes && values ? LoadModule(options.source, session) : nullptr;
  LoweringOptions lowering = options.lowering;
  lowering.schedule.tag_data = true;
  PhaseTimer timer;
  if (!module || !(IsScheduled(*module) || RunPasses(*module, StaticPipeline(lowering.schedule),
                                                     lowering, timer, session))) {
    return session.Finish();
  }
  Explanation explanation(*module, std::move(*sizes), std::move(*values), options,
                          session.diagnostics());
  if (auto kernels = explanation.Select(); !kernels.empty()) {
    (void)WriteStdout(options.json ? explanation.JsonText(kernels) : explanation.Text(kernels),
                      session.diagnostics());
  }
  return session.Finish();
}

}  // namespace etc
