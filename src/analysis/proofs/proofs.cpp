#include "analysis/proofs/proofs.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/proofs/body_proofs.h"
#include "analysis/proofs/prove_queue.h"
#include "analysis/proofs/prover.h"
#include "analysis/ranks.h"
#include "ir/equal.h"
#include "ir/printer.h"

namespace etc {
namespace {

using Reported = std::set<std::pair<DiagnosticKind, uint32_t>>;

/// A graph or a kernel, at all sizes or at those of each range.
struct ProvedItem {
  std::vector<CallProgram> programs;
  const Kernel* kernel = nullptr;  // null of a graph
};

bool HasQueues(const Module& module, const Kernel& kernel) {
  std::vector<ShareSite> dispatches = DispatchesOf(module, kernel);
  return std::any_of(dispatches.begin(), dispatches.end(), [&](const ShareSite& site) {
    return bool{std::get<Dispatch>(module.nodes[site.dispatch]).capacity};
  });
}

/// What the proofs of one program say.
struct Outcome {
  ProofReport report;
  Diagnostics diagnostics;
  std::set<AskedOf> kept = {};  // preconditions of computed tensors
  bool sizes_may_tell = false;  // about what is open
};

/// How a module is proved.
struct Mode {
  bool remarks;
  bool joined = false;                // the programs are those of all ranks
  bool of_kernels = false;            // what is open of them is open of graphs, too
  GraphProofs* fills = nullptr;       // with what is found about graphs; or null
  const GraphProofs* uses = nullptr;  // what is found about them; or null
  DerivedBodies* derived = nullptr;   // what was read while events were derived; or null
  /// The report of the graphs, or null where something is wrong with them.
  std::function<const ProofReport*()> graphs = [] { return nullptr; };
};

void ProveAll(Prover& prover, const Kernel* queued, std::set<AskedOf>& kept) {
  const CallProgram& program = prover.unknowns.program();
  if (program.open) {
    prover.NotProved(prover.report.races, DiagnosticKind::Race, program.range,
                     fmt::format("`@{}` is free of races", program.name),
                     "the bounds of a repeat have no known range");
    return;
  }
  EventRelations relations = MakeEventRelations(prover.unknowns);
  ProgramAccesses accesses = ProveBodies(prover, relations, kept);
  std::set<EventId> trusted = ProveCounts(prover, relations);
  ProveOrder(prover, relations);
  ProveVia(prover, relations);
  ProveWords(prover, relations, accesses);
  if (queued != nullptr) {
    ProveQueues(prover, relations, trusted, *queued);
  }
  if (prover.joined) {
    ProveReceived(prover, relations, accesses);
  }
  TaskOrder order(prover.unknowns, relations, std::move(trusted));
  ProveControlReads(prover, order);
  Renewal renewal(prover.unknowns, accesses);
  ProveRaces(prover, relations, accesses, order, renewal);
  ProveMemory(prover, accesses, renewal);
  ProveCoverage(prover, accesses, renewal);
}

Outcome ProveProgram(Unknowns& unknowns, const Kernel* queued, const Mode& mode, KnownBodies* known,
                     std::map<size_t, BodyProof>* found) {
  Outcome outcome;
  Reported reported;
  Overlaps overlaps(unknowns);
  Prover prover{unknowns,
                unknowns.context(),
                overlaps,
                outcome.report,
                outcome.diagnostics,
                reported,
                mode.remarks,
                outcome.sizes_may_tell,
                mode.joined,
                known,
                found};
  ProveAll(prover, queued, outcome.kept);
  return outcome;
}

/// Some small sizes of a program.
std::vector<Env> SmallSizes(const Module& module, const CallProgram& program) {
  constexpr int64_t kSizes = 8;
  constexpr int64_t kValues = 6;  // of a dimension
  std::vector<Env> sizes(kSizes);
  int64_t number = 0;
  for (const Item& item : module.items) {
    const auto* id = std::get_if<SymbolId>(&item);
    auto range = id != nullptr && module.symbols[*id].kind == SymbolKind::Dim
                     ? RangeOfDim(module, *id, program.ranges)
                     : std::nullopt;
    if (!range) {
      continue;
    }
    ExprId multiple = module.symbols[*id].multiple;
    int64_t step = multiple ? EvaluateInt(module, multiple, {}).value_or(1) : 1;
    int64_t first = (range->lo + step - 1) / step * step;
    int64_t last = std::max(first, range->hi / step * step);
    for (int64_t i = 0; i < kSizes; ++i) {
      // Of the first dimension one after the other; of the rest other steps, for all to differ.
      int64_t at = number == 0 ? i : (i * (2 * number + 1) + number) % kValues;
      int64_t value = std::min(first + at * step, last);
      sizes[static_cast<size_t>(i)][*id] = value;
    }
    ++number;
  }
  return number == 0 ? std::vector<Env>() : sizes;
}

/// What is open because quotients and products of sizes are no affine functions may be refuted at
/// small sizes, where they are; what data leave open is so there, too.
void RefuteAtSmallSizes(const Module& module, const CallProgram& program, const Kernel* kernel,
                        bool joined, Outcome& outcome) {
  for (Env& sizes : SmallSizes(module, program)) {
    CallProgram small = program;
    small.sizes = std::move(sizes);
    IslContext context;
    Unknowns unknowns(module, small, context);
    Outcome there = ProveProgram(unknowns, kernel, {false, joined}, nullptr, nullptr);
    if (there.diagnostics.HasErrors()) {
      outcome.diagnostics.Add(there.diagnostics);
      for (const ProofGroup& group : kProofGroups) {
        (outcome.report.*group.tally).refuted += (there.report.*group.tally).refuted;
      }
      return;
    }
  }
}

/// A program of a graph, or of a kernel of which no graph is known.
Outcome ProveAlone(const Module& module, const CallProgram& program, const Kernel* queued,
                   const Mode& mode, std::shared_ptr<ProvedProgram>& kept) {
  std::shared_ptr<ReadBodies> derived =
      mode.derived != nullptr && queued == nullptr ? mode.derived->Take(program) : nullptr;
  auto proved = derived ? std::make_shared<ProvedProgram>(module, program, derived->kept)
                        : std::make_shared<ProvedProgram>(module, program);
  std::optional<KnownBodies> known;
  if (derived) {
    proved->context.SetExactBudget(0);  // no bound yet
    known.emplace(*derived, proved->unknowns);
  }
  Outcome outcome =
      ProveProgram(proved->unknowns, queued, mode, known ? &*known : nullptr, &proved->bodies);
  if (outcome.sizes_may_tell && !outcome.diagnostics.HasErrors() && !mode.of_kernels) {
    RefuteAtSmallSizes(module, program, queued, mode.joined, outcome);
  }
  kept = outcome.diagnostics.HasErrors() ? nullptr : std::move(proved);
  return outcome;
}

/// A program of a kernel. Nothing where something is wrong with the graph, which is said of that.
Outcome ProveBehind(const Module& module, const CallProgram& program, const Kernel& kernel,
                    const Kernel* queued, const Mode& mode) {
  auto [wrong, graph] = mode.uses->Wait(module, kernel.graph, program.ranges);
  if (wrong) {
    return {};
  }
  if (graph == nullptr) {
    std::shared_ptr<ProvedProgram> kept;
    return ProveAlone(module, program, queued, mode, kept);
  }
  std::lock_guard lock(graph->in_use);
  graph->context.SetExactBudget(0);  // no bound yet
  Unknowns unknowns(module, program, graph->context);
  KnownBodies known(*graph, unknowns);
  return ProveProgram(unknowns, queued, mode, &known, nullptr);
}

/// The programs of the graphs and kernels, and what is proved of each.
std::vector<std::vector<Outcome>> ProvePrograms(const Module& module,
                                                const std::vector<ProvedItem>& items,
                                                const Mode& mode, size_t threads) {
  struct Work {
    const CallProgram* program;
    const Kernel* kernel;
    Outcome* outcome;
  };
  std::vector<Work> work;
  std::vector<const CallProgram*> programs;
  std::vector<std::vector<Outcome>> outcomes;
  for (const ProvedItem& item : items) {
    outcomes.emplace_back(item.programs.size());
    for (size_t i = 0; i < item.programs.size(); ++i) {
      work.push_back({&item.programs[i], item.kernel, &outcomes.back()[i]});
      programs.push_back(&item.programs[i]);
    }
  }
  if (mode.fills != nullptr) {
    mode.fills->Announce(programs);
  }
  ForEachInParallel(
      work.size(),
      [&](size_t i) {
        const auto& [program, kernel, outcome] = work[i];
        const Kernel* queued = kernel != nullptr && HasQueues(module, *kernel) ? kernel : nullptr;
        if (mode.uses != nullptr && kernel != nullptr) {
          *outcome = ProveBehind(module, *program, *kernel, queued, mode);
          return;
        }
        std::shared_ptr<ProvedProgram> kept;
        *outcome = ProveAlone(module, *program, queued, mode, kept);
        if (mode.fills != nullptr) {
          mode.fills->Put(i, std::move(kept));
        }
      },
      threads);
  return outcomes;
}

/// Adds what has not been said already, by an earlier program or of the graphs.
void Add(const Outcome& outcome, const ProofReport* graphs, Reported& reported, ProofReport& report,
         Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : outcome.diagnostics.all()) {
    bool known = diagnostic.severity != Severity::Remark
                     ? !reported.emplace(diagnostic.kind, diagnostic.range.begin).second
                     : report.LeavesOpen(diagnostic.message) ||
                           (graphs != nullptr && graphs->LeavesOpen(diagnostic.message));
    if (!known) {
      diagnostics.Add(diagnostic);
    }
  }
  for (const std::string& fact : outcome.report.not_proved) {
    if (!report.LeavesOpen(fact)) {
      report.not_proved.push_back(fact);
    }
  }
  for (const ProofGroup& group : kProofGroups) {
    ProofTally& sum = report.*group.tally;
    const ProofTally& tally = outcome.report.*group.tally;
    sum.proved += tally.proved;
    sum.refuted += tally.refuted;
    sum.not_proved += tally.not_proved;
  }
}

std::string PreconditionText(const Module& module, const Tensor& tensor) {
  std::string text;
  if (tensor.value_lo && tensor.value_hi) {
    text +=
        fmt::format(" in {} .. {}", Print(module, tensor.value_lo), Print(module, tensor.value_hi));
  }
  text += tensor.distinct ? " distinct" : "";
  text += tensor.monotone ? " monotone" : "";
  text += tensor.counts ? " counts %" + module.tensors[tensor.counts].name : "";
  std::string indices;
  for (SymbolId index : tensor.indices) {
    indices += (indices.empty() ? "" : ", ") + (index ? module.symbols[index].name : "*");
  }
  return text.empty() ? ""
                      : "%" + tensor.name + (indices.empty() ? "" : "[" + indices + "]") + text;
}

/// What callers promise of the elements of index tensors: those of the program, and where a device
/// function asks for something of a tensor that has no precondition of its own, the graph.
/// `outcomes` are those of all ranges of the program's sizes.
void AddAssumptions(const Module& module, const CallProgram& program,
                    const std::vector<Outcome>& outcomes, ProofReport& report) {
  auto add = [&](std::string text) {
    auto& all = report.assumptions;
    if (std::find(all.begin(), all.end(), text) == all.end()) {
      all.push_back(std::move(text));
    }
  };
  auto unknown = [&](TensorId id) {  // before the launch
    return module.tensors[id].kind == TensorKind::Buffer || module.tensors[id].access != Access::In;
  };
  for (TensorId id : program.params) {
    if (std::string text = PreconditionText(module, module.tensors[id]); !text.empty()) {
      add(std::move(text));
    }
  }
  for (const ProgramCall& call : program.calls) {
    for (size_t a = 0; a < call.args.size(); ++a) {
      const Tensor& param = module.tensors[call.device->params[a]];
      std::string text = PreconditionText(module, param);
      if (!text.empty() && PreconditionText(module, module.tensors[call.args[a].tensor]).empty()) {
        AskedOf asked{call.device->params[a], call.args[a].tensor};
        bool range_only = !param.distinct && !param.monotone && !param.counts;
        bool proved = range_only &&
                      std::all_of(outcomes.begin(), outcomes.end(), [&](const Outcome& outcome) {
                        return outcome.kept.contains(asked);
                      });
        add(fmt::format("@{}: {}{}", call.device->name, text,
                        !unknown(call.args[a].tensor) ? ""
                        : proved                      ? " (computed, proved)"
                                                      : " (computed, not proved)"));
      }
    }
  }
}

ProofReport ProveFlat(const Module& module, const Mode& mode, Diagnostics& diagnostics,
                      size_t threads) {
  ProofReport report;
  Reported reported;
  std::vector<ProvedItem> items;
  for (const Item& item : module.items) {
    if (const auto* graph = std::get_if<GraphId>(&item)) {
      items.push_back({MakeCallPrograms(module, module.graphs[*graph])});
    } else if (const auto* kernel = std::get_if<KernelId>(&item)) {
      const Kernel& proved = module.kernels[*kernel];
      items.push_back({{MakeCallProgram(module, proved)}, &proved});
    }
  }
  std::vector<std::vector<Outcome>> outcomes = ProvePrograms(module, items, mode, threads);
  const ProofReport* graphs = mode.graphs();
  if (mode.of_kernels && graphs == nullptr) {
    return report;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    auto before = static_cast<std::ptrdiff_t>(report.not_proved.size());
    if (items[i].programs.empty()) {
      continue;
    }
    for (const Outcome& outcome : outcomes[i]) {
      Add(outcome, graphs, reported, report, diagnostics);
    }
    AddAssumptions(module, items[i].programs[0], outcomes[i], report);
    auto open = std::count_if(
        report.not_proved.begin() + before, report.not_proved.end(),
        [&](const auto& fact) { return graphs == nullptr || !graphs->LeavesOpen(fact); });
    if (open > 0 && !mode.remarks) {
      diagnostics.Warning(
          DiagnosticKind::NotProved, items[i].programs[0].range,
          fmt::format("{} fact{} about `@{}` {} not proved; `--remarks` says which, "
                      "and why",
                      open, open == 1 ? "" : "s", items[i].programs[0].name,
                      open == 1 ? "is" : "are"));
    }
  }
  return report;
}

/// What the report does not say yet.
void AddTexts(const std::vector<std::string>& texts, std::vector<std::string>& to) {
  for (const std::string& text : texts) {
    if (std::find(to.begin(), to.end(), text) == to.end()) {
      to.push_back(text);
    }
  }
}

}  // namespace

int64_t ProofReport::NotProved() const {
  int64_t facts = 0;
  for (const ProofGroup& group : kProofGroups) {
    facts += (this->*group.tally).not_proved;
  }
  return facts;
}

int64_t ProofReport::Refuted() const {
  int64_t facts = 0;
  for (const ProofGroup& group : kProofGroups) {
    facts += (this->*group.tally).refuted;
  }
  return facts;
}

bool ProofReport::LeavesOpen(const std::string& fact) const {
  return std::find(not_proved.begin(), not_proved.end(), fact) != not_proved.end();
}

ProofReport Prove(const Module& module, bool remarks, Diagnostics& diagnostics,
                  const ProofReport* graphs, size_t threads, DerivedBodies* derived) {
  Mode mode{.remarks = remarks,
            .joined = module.mesh.has_value(),
            .of_kernels = graphs != nullptr,
            .derived = module.mesh ? nullptr : derived};
  mode.graphs = [graphs] { return graphs; };
  if (!module.mesh) {
    return ProveFlat(module, mode, diagnostics, threads);
  }
  ProofReport report;
  Reported reported;
  for (int64_t ranks : module.mesh->values) {
    Diagnostics found;
    Module joined = JoinRanks(AtRanks(module, ranks), ranks);
    NameAsWritten(joined);
    ProofReport mine = ProveFlat(joined, mode, found, threads);
    for (const Diagnostic& each : found.all()) {
      if (each.severity == Severity::Remark
              ? !report.LeavesOpen(each.message)
              : reported.emplace(each.kind, each.range.begin).second) {
        diagnostics.Add(each);
      }
    }
    for (const ProofGroup& group : kProofGroups) {
      ProofTally& sum = report.*group.tally;
      const ProofTally& tally = mine.*group.tally;
      sum.proved += tally.proved;
      sum.refuted += tally.refuted;
      sum.not_proved += tally.not_proved;
    }
    AddTexts(mine.assumptions, report.assumptions);
    AddTexts(mine.not_proved, report.not_proved);
    if (found.HasErrors()) {
      break;  // the next numbers of ranks would repeat the errors
    }
  }
  return report;
}

ProofReport ProveGraphs(GraphProofs& graphs, bool remarks, Diagnostics& diagnostics,
                        size_t threads) {
  if (graphs.module().mesh) {
    graphs.Announce({});
    return Prove(graphs.module(), remarks, diagnostics, nullptr, threads);
  }
  return ProveFlat(graphs.module(),
                   {.remarks = remarks, .fills = &graphs, .derived = graphs.derived()}, diagnostics,
                   threads);
}

ProofReport ProveKernels(const Module& module, const GraphProofs& graphs,
                         const std::function<const ProofReport*()>& report, bool remarks,
                         Diagnostics& diagnostics, size_t threads) {
  if (module.mesh || !AreDevicesEqual(graphs.module(), module)) {
    const ProofReport* found = report();
    return found == nullptr ? ProofReport() : Prove(module, remarks, diagnostics, found, threads);
  }
  return ProveFlat(module,
                   {.remarks = remarks, .of_kernels = true, .uses = &graphs, .graphs = report},
                   diagnostics, threads);
}

}  // namespace etc
