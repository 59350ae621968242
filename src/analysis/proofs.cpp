#include "analysis/proofs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "analysis/prover.h"
#include "ir/printer.h"

namespace etc {
namespace {

/// What is found out about one program.
struct Findings {
  ProofReport report;
  Diagnostics diagnostics;
};

void ProveProgram(const Module& module, const CallProgram& program, bool remarks,
                  const ProofReport* graphs, Findings& findings) {
  IslContext context;
  Unknowns unknowns(module, program, context);
  Prover prover{unknowns, context, findings.report, findings.diagnostics, {}, remarks, graphs};
  if (program.open) {
    prover.NotProved(findings.report.races, DiagnosticKind::Race, program.range,
                     fmt::format("`@{}` is free of races", program.name),
                     "a repeat has no constant bounds");
    return;
  }
  EventRelations relations = MakeEventRelations(unknowns);
  ProgramAccesses accesses = ProveBounds(prover, relations);
  std::set<EventId> trusted = ProveCounts(prover, relations);
  ProveOrder(prover, relations);
  ProveSteering(prover, relations, trusted);
  ProveRaces(prover, relations, accesses, trusted);
}

/// Side by side, on as many threads as the machine has: each program has its own isl context.
std::vector<Findings> ProveEach(const Module& module, const std::vector<CallProgram>& programs,
                                bool remarks, const ProofReport* graphs) {
  std::vector<Findings> findings(programs.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < programs.size(); i = next++) {
      ProveProgram(module, programs[i], remarks, graphs, findings[i]);
    }
  };
  size_t count = std::min<size_t>(programs.size(), std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (size_t i = 1; i < count; ++i) {
    others.emplace_back(work);
  }
  work();
  for (std::thread& other : others) {
    other.join();
  }
  return findings;
}

void Add(const ProofTally& from, ProofTally& to) {
  to.proved += from.proved;
  to.refuted += from.refuted;
  to.not_proved += from.not_proved;
}

void Add(const ProofReport& from, ProofReport& to) {
  Add(from.bounds, to.bounds);
  Add(from.counts, to.counts);
  Add(from.order, to.order);
  Add(from.races, to.races);
  to.not_proved.insert(to.not_proved.end(), from.not_proved.begin(), from.not_proved.end());
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
                  const ProofReport* graphs) {
  std::vector<CallProgram> programs;
  std::vector<size_t> ends;  // of each graph's and kernel's programs
  for (const Item& item : module.items) {
    if (const auto* graph = std::get_if<GraphId>(&item)) {
      for (CallProgram& program : MakeCallPrograms(module, module.graphs[*graph])) {
        programs.push_back(std::move(program));
      }
    } else if (const auto* kernel = std::get_if<KernelId>(&item)) {
      programs.push_back(MakeCallProgram(module, module.kernels[*kernel]));
    }
    if (programs.size() > (ends.empty() ? 0 : ends.back())) {
      ends.push_back(programs.size());
    }
  }
  std::vector<Findings> findings = ProveEach(module, programs, remarks, graphs);
  ProofReport report;
  std::set<std::pair<DiagnosticKind, uint32_t>> reported;  // errors: one of a kind at a position
  size_t begin = 0;
  for (size_t end : ends) {
    AddAssumptions(module, programs[begin], report);
    int64_t open = 0;
    for (size_t i = begin; i < end; ++i) {
      Add(findings[i].report, report);
      for (const Diagnostic& found : findings[i].diagnostics.all()) {
        if (found.severity != Severity::Error ||
            reported.emplace(found.kind, found.range.begin).second) {
          diagnostics.Add(found);
        }
      }
      const std::vector<std::string>& facts = findings[i].report.not_proved;
      open += std::count_if(facts.begin(), facts.end(), [&](const std::string& fact) {
        return graphs == nullptr || !graphs->LeavesOpen(fact);
      });
    }
    const CallProgram& first = programs[begin];
    if (open > 0 && !remarks) {
      diagnostics.Warning(
          DiagnosticKind::NotProved, first.range,
          fmt::format("{} fact{} about `@{}` {} not proved; `--remarks` says "
                      "which, and why",
                      open, open == 1 ? "" : "s", first.name, open == 1 ? "is" : "are"));
    }
    begin = end;
  }
  return report;
}

}  // namespace etc
