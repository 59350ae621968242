// `etc explain`: load → schedule → what the cost model says of each kernel, as text or as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "compile/front.h"
#include "compile/pipeline.h"
#include "compile/sizes.h"
#include "driver/commands.h"
#include "ir/requirements.h"
#include "report/choices_report.h"
#include "report/explain_report.h"
#include "schedule/choice_cost.h"
#include "schedule/lower.h"
#include "support/assignments.h"
#include "support/files.h"

namespace etc {
namespace {

bool Contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

class Explanation {
 public:
  Explanation(Module& module, const std::map<std::string, int64_t>& sizes,
              const std::map<std::string, int64_t>& values, const ExplainOptions& options,
              Diagnostics& diagnostics)
      : module_(module),
        sizes_(sizes),
        values_(values),
        options_(options),
        diagnostics_(diagnostics) {}

  /// The kernels that serve the sizes asked for; empty after an error.
  std::vector<KernelId> Select() {
    std::vector<std::string> dims, graphs, integers;
    bool sizes_ok = true;
    Env given;
    for (SymbolId symbol : module_.symbols.Ids()) {
      if (module_.symbols[symbol].kind == SymbolKind::Dim) {
        dims.push_back(module_.symbols[symbol].name);
        auto size = sizes_.find(dims.back());
        if (size != sizes_.end()) {
          given[symbol] = size->second;
          sizes_ok &= CheckSize(module_, symbol, size->second, "--dim", diagnostics_);
        }
      }
    }
    std::vector<KernelId> kernels;
    for (KernelId id : module_.kernels.Ids()) {
      const std::string& graph = module_.kernels[id].graph;
      if (!Contains(graphs, graph)) {
        graphs.push_back(graph);
      }
      for (TensorId param : TensorsOf(id)) {
        const Tensor& tensor = module_.tensors[param];
        if (KindOf(tensor.type) == ValueKind::Int && !Contains(integers, tensor.name)) {
          integers.push_back(tensor.name);
        }
      }
      if ((options_.graph.empty() || options_.graph == graph) && Serves(id)) {
        kernels.push_back(id);
      }
    }
    sizes_ok = sizes_ok && CheckRequirements(module_, given, diagnostics_);
    bool dims_ok = CheckNames(sizes_, "--dim", "dimension", dims, diagnostics_);
    bool values_ok = CheckNames(values_, "--value", "integer tensor", integers, diagnostics_);
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

  ExplainedKernel Explain(KernelId id) {
    const Kernel& kernel = module_.kernels[id];
    const Target& target = *options_.lowering.schedule.target;
    ExplainedKernel explained{id, SizesOf(id), {}, ChooseThrottles(module_, kernel, target), {}};
    explained.cost = CostOf(module_, kernel, explained.sizes, target, values_);
    for (const CallCost& call : explained.cost.calls) {
      std::vector<std::string>& reasons = explained.reasons.emplace_back();
      for (const EdgeCost& edge : call.edges) {
        reasons.push_back(ReasonOf(id, edge));
      }
    }
    return explained;
  }

 private:
  /// A kernel's parameters and buffers.
  std::vector<TensorId> TensorsOf(KernelId id) const {
    std::vector<TensorId> tensors = module_.kernels[id].params;
    for (NodeId node : module_.kernels[id].declarations) {
      if (const auto* buffer = std::get_if<BufferDecl>(&module_.nodes[node])) {
        tensors.push_back(buffer->tensor);
      }
    }
    return tensors;
  }

  /// The range of a dimension in a kernel.
  Interval RangeIn(const Kernel& kernel, SymbolId dim) const {
    return RangeOfDim(module_, dim, RangesOf(module_, kernel)).value();
  }

  bool Serves(KernelId id) const {
    Env sizes = SizesOf(id);
    for (const auto& [dim, value] : sizes) {
      Interval range = RangeIn(module_.kernels[id], dim);
      if (value < range.lo || value > range.hi) {
        return false;
      }
    }
    return RequirementsHold(module_, sizes, RangesOf(module_, module_.kernels[id]));
  }

  /// The sizes asked for, and of the others the least that the kernel serves with them.
  Env SizesOf(KernelId id) const {
    Env given;
    for (SymbolId dim : DimsOf(module_)) {
      if (auto size = sizes_.find(module_.symbols[dim].name); size != sizes_.end()) {
        given[dim] = size->second;
      }
    }
    return LeastSizes(module_, module_.kernels[id], given);
  }

  std::string ReasonOf(KernelId kernel, const EdgeCost& edge) {
    switch (edge.mechanism) {
      case Mechanism::None:
        return module_.kernels[kernel].schedule == ScheduleKind::Kernels
                   ? "the launch that writes it has ended"
                   : "no event orders it: each SM runs its own tasks in order";
      case Mechanism::FlagInData:
        return "little of it is read, and all that use it take it flagged";
      default:
        return WhyNotFlagged(module_, kernel, edge.tensor, options_.lowering.schedule);
    }
  }

  Module& module_;
  const std::map<std::string, int64_t>& sizes_;
  const std::map<std::string, int64_t>& values_;
  const ExplainOptions& options_;
  Diagnostics& diagnostics_;
};

/// The integers of a line for each layer, separated by blanks or commas.
std::optional<Routing> ReadChoices(const std::string& path, Diagnostics& diagnostics) {
  std::optional<std::string> text = ReadInput(path, diagnostics);
  if (!text) {
    return std::nullopt;
  }
  Routing routing;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    std::vector<int64_t> choices;
    for (int64_t choice = 0; words >> choice;) {
      choices.push_back(choice);
    }
    if (!words.eof()) {
      diagnostics.Error(DiagnosticKind::Data, {},
                        fmt::format("`{}`: line {} has something else than integers",
                                    DisplayName(path), routing.choices.size() + 1));
      return std::nullopt;
    }
    routing.choices.push_back(std::move(choices));
  }
  if (routing.choices.empty()) {
    diagnostics.Error(DiagnosticKind::Data, {},
                      fmt::format("`{}` has no choices", DisplayName(path)));
    return std::nullopt;
  }
  return routing;
}

std::optional<Routing> ParseRouting(const std::string& text, Diagnostics& diagnostics) {
  constexpr std::string_view kZipf = "zipf:";
  if (text == "uniform") {
    return Routing{};
  }
  if (!text.starts_with(kZipf)) {
    return ReadChoices(text, diagnostics);
  }
  Routing routing;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data() + kZipf.size(), end, routing.exponent);
  if (error != std::errc() || stop != end || !(routing.exponent >= 0 && routing.exponent <= 10)) {
    diagnostics.Error(DiagnosticKind::CommandLine, {},
                      fmt::format("`--routing {}`: the exponent is no number from 0 to 10", text));
    return std::nullopt;
  }
  return routing;
}

/// What operators leave open, in place of what the kernels take.
ExitCode ExplainChoices(const ExplainOptions& options, Session& session) {
  auto open = LoadOpen(options.source, session);
  auto decisions = open ? DecisionsOf(*open, options.source, session) : std::nullopt;
  if (!decisions) {
    return session.Finish();
  }
  ChoiceCosts costs(*open, *options.source.target, Decided(*decisions));
  std::vector<ExplainedChoice> choices;
  std::set<std::string> seen;  // calls that do not differ ask once
  for (const Decision& decision : *decisions) {
    const Question& question = decision.question;
    bool of_graph = options.graph.empty() || decision.graph == options.graph;
    if (of_graph &&
        seen.insert(question.function + "." + question.parameter + " " + Describe(question))
            .second) {
      choices.push_back({decision, costs.Of(question)});
    }
  }
  (void)WriteStdout(options.json ? ChoicesJson(choices, *options.source.target)
                                 : ChoicesText(choices, *options.source.target),
                    session.diagnostics());
  return session.Finish();
}

}  // namespace

ExitCode Execute(const ExplainOptions& options) {
  Session session(options.source.diagnostics);
  if (options.choices) {
    return ExplainChoices(options, session);
  }
  auto sizes = ParseIntAssignments(options.dims, "--dim", session.diagnostics());
  auto values = ParseIntAssignments(options.values, "--value", session.diagnostics());
  std::optional<Routing> routing;
  if (!options.routing.empty() &&
      !(routing = ParseRouting(options.routing, session.diagnostics()))) {
    return session.Finish();
  }
  auto module = sizes && values ? LoadModule(options.source, session) : nullptr;
  LoweringOptions lowering = options.lowering;
  lowering.schedule.flag_in_data = true;
  PhaseTimer timer;
  if (!module || !(IsScheduled(*module) || RunPasses(*module, StaticPipeline(lowering.schedule),
                                                     lowering, timer, session))) {
    return session.Finish();
  }
  Explanation explanation(*module, *sizes, *values, options, session.diagnostics());
  ExplainReport report{*module, *options.lowering.schedule.target, *sizes, *values, {}};
  for (KernelId id : explanation.Select()) {
    ExplainedKernel& explained = report.kernels.emplace_back(explanation.Explain(id));
    std::string mismatch;
    if (routing && !(explained.routing = CostOfRouting(*module, module->kernels[id], explained.cost,
                                                       explained.sizes, *routing, &mismatch))) {
      session.diagnostics().Error(DiagnosticKind::Data, {},
                                  fmt::format("`--routing {}`: {}", options.routing, mismatch));
      return session.Finish();
    }
  }
  report.routing = options.routing;
  if (!report.kernels.empty()) {
    (void)WriteStdout(options.json ? ExplainJson(report) : ExplainText(report),
                      session.diagnostics());
  }
  return session.Finish();
}

}  // namespace etc
