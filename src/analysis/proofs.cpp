#include "analysis/proofs.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/prover.h"
#include "ir/printer.h"

namespace etc {
namespace {

using Reported = std::set<std::pair<DiagnosticKind, uint32_t>>;

/// What the proofs of one program say.
struct Outcome {
  ProofReport report;
  Diagnostics diagnostics;
};

Outcome ProveProgram(const Module& module, const CallProgram& program, bool remarks,
                     const ProofReport* graphs) {
  Outcome outcome;
  Reported reported;
  IslContext context;
  Unknowns unknowns(module, program, context);
  Overlaps overlaps(unknowns);
  Prover prover{unknowns, context, overlaps, outcome.report, outcome.diagnostics,
                reported, remarks, graphs};
  if (program.open) {
    prover.NotProved(outcome.report.races, DiagnosticKind::Race, program.range,
                     fmt::format("`@{}` is free of races", program.name),
                     "the bounds of a repeat have no known range");
    return outcome;
  }
  EventRelations relations = MakeEventRelations(unknowns);
  ProgramAccesses accesses = ProveBodies(prover, relations);
  std::set<EventId> trusted = ProveCounts(prover, relations);
  ProveOrder(prover, relations);
  ProveSteering(prover, relations, trusted);
  ProveRaces(prover, relations, accesses, trusted);
  ProveMemory(prover, accesses);
  return outcome;
}

/// The programs of the graphs and kernels, and what is proved of each.
std::vector<std::vector<Outcome>> ProvePrograms(const Module& module,
                                                const std::vector<std::vector<CallProgram>>& items,
                                                bool remarks, const ProofReport* graphs,
                                                size_t threads) {
  std::vector<std::pair<const CallProgram*, Outcome*>> work;
  std::vector<std::vector<Outcome>> outcomes;
  for (const std::vector<CallProgram>& programs : items) {
    outcomes.emplace_back(programs.size());
    for (size_t i = 0; i < programs.size(); ++i) {
      work.emplace_back(&programs[i], &outcomes.back()[i]);
    }
  }
  ForEachInParallel(
      work.size(),
      [&](size_t i) { *work[i].second = ProveProgram(module, *work[i].first, remarks, graphs); },
      threads);
  return outcomes;
}

/// Adds what an earlier program has not said already.
void Add(const Outcome& outcome, Reported& reported, ProofReport& report,
         Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : outcome.diagnostics.all()) {
    bool known = diagnostic.severity == Severity::Error
                     ? !reported.emplace(diagnostic.kind, diagnostic.range.begin).second
                     : report.LeavesOpen(diagnostic.message);
    if (!known) {
      diagnostics.Add(diagnostic);
    }
  }
  for (const std::string& fact : outcome.report.not_proved) {
    if (!report.LeavesOpen(fact)) {
      report.not_proved.push_back(fact);
    }
  }
  for (ProofTally ProofReport::*group :
       {&ProofReport::bounds, &ProofReport::counts, &ProofReport::order, &ProofReport::races,
        &ProofReport::iterations}) {
    (report.*group).proved += (outcome.report.*group).proved;
    (report.*group).refuted += (outcome.report.*group).refuted;
    (report.*group).not_proved += (outcome.report.*group).not_proved;
  }
}

std::string PromiseText(const Module& module, const Tensor& tensor) {
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
/// function asks for something of a tensor that has no promise of its own, the graph.
void AddAssumptions(const Module& module, const CallProgram& program, ProofReport& report) {
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
    if (std::string text = PromiseText(module, module.tensors[id]); !text.empty()) {
      add(std::move(text));
    }
  }
  for (const ProgramCall& call : program.calls) {
    for (size_t a = 0; a < call.args.size(); ++a) {
      const Tensor& param = module.tensors[call.device->params[a]];
      std::string text = PromiseText(module, param);
      if (!text.empty() && PromiseText(module, module.tensors[call.args[a].tensor]).empty()) {
        bool computed = unknown(call.args[a].tensor);
        add(fmt::format("@{}: {}{}", call.device->name, text,
                        computed ? " (computed, not proved)" : ""));
      }
    }
  }
}

}  // namespace

bool ProofReport::LeavesOpen(const std::string& fact) const {
  return std::find(not_proved.begin(), not_proved.end(), fact) != not_proved.end();
}

ProofReport Prove(const Module& module, bool remarks, Diagnostics& diagnostics,
                  const ProofReport* graphs, size_t threads) {
  ProofReport report;
  Reported reported;
  std::vector<std::vector<CallProgram>> items;
  for (const Item& item : module.items) {
    if (const auto* graph = std::get_if<GraphId>(&item)) {
      items.push_back(MakeCallPrograms(module, module.graphs[*graph]));
    } else if (const auto* kernel = std::get_if<KernelId>(&item)) {
      items.push_back({MakeCallProgram(module, module.kernels[*kernel])});
    }
  }
  std::vector<std::vector<Outcome>> outcomes =
      ProvePrograms(module, items, remarks, graphs, threads);
  for (size_t i = 0; i < items.size(); ++i) {
    auto before = static_cast<std::ptrdiff_t>(report.not_proved.size());
    if (items[i].empty()) {
      continue;
    }
    for (const Outcome& outcome : outcomes[i]) {
      Add(outcome, reported, report, diagnostics);
    }
    AddAssumptions(module, items[i][0], report);
    auto open = std::count_if(
        report.not_proved.begin() + before, report.not_proved.end(),
        [&](const auto& fact) { return graphs == nullptr || !graphs->LeavesOpen(fact); });
    if (open > 0 && !remarks) {
      diagnostics.Warning(
          DiagnosticKind::NotProved, items[i][0].range,
          fmt::format("{} fact{} about `@{}` {} not proved; `--remarks` says which, "
                      "and why",
                      open, open == 1 ? "" : "s", items[i][0].name, open == 1 ? "is" : "are"));
    }
  }
  return report;
}

}  // namespace etc
