#include "analysis/proofs.h"

#include <fmt/format.h>

#include "analysis/prover.h"
#include "ir/printer.h"

namespace etc {
namespace {

using Reported = std::set<std::pair<DiagnosticKind, uint32_t>>;

void ProveProgram(const Module& module, const CallProgram& program, bool remarks,
                  Reported& reported, ProofReport& report, Diagnostics& diagnostics) {
  IslContext context;
  Unknowns unknowns(module, program, context);
  Prover prover{unknowns, context, report, diagnostics, reported, remarks};
  if (program.nested) {
    prover.NotProved(report.races, DiagnosticKind::Race, program.range,
                     fmt::format("`@{}` is free of races", program.name),
                     "a repeat stands inside of a repeat");
    return;
  }
  EventRelations relations = MakeEventRelations(unknowns);
  ProveBounds(prover, relations);
  std::set<EventId> trusted = ProveCounts(prover, relations);
  ProveOrder(prover, relations);
  ProveRaces(prover, relations, trusted);
  if (program.workspace) {
    prover.NotProved(
        report.races, DiagnosticKind::Race, program.range,
        fmt::format("buffers of `@{}` that share memory are used in order", program.name),
        "places in the workspace are not analysed");
  }
}

/// What the callers promise of the elements of index tensors.
void AddAssumptions(const Module& module, const CallProgram& program, ProofReport& report) {
  for (TensorId id : program.params) {
    const Tensor& tensor = module.tensors[id];
    if (tensor.value_lo && tensor.value_hi) {
      report.assumptions.push_back(fmt::format("%{} in {} .. {}", tensor.name,
                                               Print(module, tensor.value_lo),
                                               Print(module, tensor.value_hi)));
    }
  }
}

}  // namespace

ProofReport Prove(const Module& module, bool remarks, Diagnostics& diagnostics) {
  ProofReport report;
  Reported reported;
  for (const Item& item : module.items) {
    std::vector<CallProgram> programs;
    if (const auto* graph = std::get_if<GraphId>(&item)) {
      programs = MakeCallPrograms(module, module.graphs[*graph]);
    } else if (const auto* kernel = std::get_if<KernelId>(&item)) {
      programs = {MakeCallProgram(module, module.kernels[*kernel])};
    }
    for (size_t i = 0; i < programs.size(); ++i) {
      ProveProgram(module, programs[i], remarks, reported, report, diagnostics);
    }
    if (!programs.empty()) {
      AddAssumptions(module, programs[0], report);
    }
  }
  return report;
}

}  // namespace etc
