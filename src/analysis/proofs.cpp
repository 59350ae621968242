#include "analysis/proofs.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/prover.h"
#include "ir/printer.h"

namespace etc {
namespace {

using Reported = std::set<std::pair<DiagnosticKind, uint32_t>>;

void ProveProgram(const Module& module, const CallProgram& program, bool remarks,
                  const ProofReport* graphs, Reported& reported, ProofReport& report,
                  Diagnostics& diagnostics) {
  IslContext context;
  Unknowns unknowns(module, program, context);
  Overlaps overlaps(unknowns);
  Prover prover{unknowns, context, overlaps, report, diagnostics, reported, remarks, graphs};
  if (program.open) {
    prover.NotProved(report.races, DiagnosticKind::Race, program.range,
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
  ProveMemory(prover, accesses);
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
  ProofReport report;
  Reported reported;
  for (const Item& item : module.items) {
    std::vector<CallProgram> programs;
    if (const auto* graph = std::get_if<GraphId>(&item)) {
      programs = MakeCallPrograms(module, module.graphs[*graph]);
    } else if (const auto* kernel = std::get_if<KernelId>(&item)) {
      programs = {MakeCallProgram(module, module.kernels[*kernel])};
    }
    auto before = static_cast<std::ptrdiff_t>(report.not_proved.size());
    for (const CallProgram& program : programs) {
      ProveProgram(module, program, remarks, graphs, reported, report, diagnostics);
    }
    if (programs.empty()) {
      continue;
    }
    AddAssumptions(module, programs[0], report);
    auto open = std::count_if(
        report.not_proved.begin() + before, report.not_proved.end(),
        [&](const auto& fact) { return graphs == nullptr || !graphs->LeavesOpen(fact); });
    if (open > 0 && !remarks) {
      diagnostics.Warning(
          DiagnosticKind::NotProved, programs[0].range,
          fmt::format("{} fact{} about `@{}` {} not proved; `--remarks` says which, "
                      "and why",
                      open, open == 1 ? "" : "s", programs[0].name, open == 1 ? "is" : "are"));
    }
  }
  return report;
}

}  // namespace etc
