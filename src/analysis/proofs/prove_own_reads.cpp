// What a body reads of a local or of an `out` parameter, its task has written before: such memory
// holds nothing when the task starts.
#include <fmt/format.h>

#include "analysis/proofs/prover.h"

namespace etc {
namespace {

constexpr unsigned long kSteps = 1'000'000;

/// `iteration (i = 3) of `@f[0]``
std::string ReaderText(const Module& module, const ProgramCall& call, const BodyRead& read,
                       const Point& point) {
  std::string iteration;
  for (const auto& [variable, name] : read.variables) {
    if (auto value = point.find(name); value != point.end()) {
      iteration += fmt::format("{}{} = {}", iteration.empty() ? "" : ", ",
                               module.symbols[variable].name, value->second);
    }
  }
  std::string task = TaskText(call, point, 1);
  return iteration.empty() ? task : fmt::format("iteration ({}) of {}", iteration, task);
}

void Refute(Prover& prover, const ProgramCall& call, const BodyRead& read, const Point& point) {
  const Module& module = prover.unknowns.module();
  const Tensor& tensor = module.tensors[read.tensor];
  Diagnostic* error = prover.Refuted(
      prover.report.coverage, DiagnosticKind::Coverage, read.range,
      fmt::format("{} reads {} before it writes it{}", ReaderText(module, call, read, point),
                  ElementText(prover.unknowns, read.memory, point),
                  WhereText(prover.unknowns, point, &call, 1)));
  if (error == nullptr) {
    return;
  }
  error->notes.push_back(
      {tensor.range, fmt::format("what `%{}` holds when {} starts is undefined", tensor.name,
                                 tensor.kind == TensorKind::Local ? "its block" : "a task")});
  error->notes.push_back({call.range, fmt::format("`@{}` is called here", call.device->name)});
}

}  // namespace

void ProveOwnRead(Prover& prover, const ProgramCall& call, const BodyRead& read) {
  Unknowns& unknowns = prover.unknowns;
  ProofTally& tally = prover.report.coverage;
  if (IsEmpty(read.open)) {
    ++tally.proved;
    return;
  }
  prover.context.SetBudget(kSteps);
  Set open = unknowns.WithAxioms(unknowns.Close(Coalesce(read.open & unknowns.GlobalFacts())));
  if (IsEmpty(open)) {
    ++tally.proved;
    return;
  }
  std::optional<Point> point;
  if (read.exact && read.never) {
    point = FindWitness(unknowns, unknowns.Close(read.never & unknowns.GlobalFacts()));
  }
  if (point) {
    Refute(prover, call, read, *point);
    return;
  }
  prover.NotProved(tally, DiagnosticKind::Coverage, read.range,
                   fmt::format("`@{}` reads elements of `%{}` that it has written",
                               call.device->name, unknowns.module().tensors[read.tensor].name),
                   open && !read.doubt.empty() ? "what it writes depends on " + read.doubt
                                               : ReasonOf(unknowns, open));
}

}  // namespace etc
