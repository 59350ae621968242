#include "check.h"

#include <algorithm>
#include <sstream>

#include "ir/lower_slices.h"
#include "schedule/lower.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc::mutation {
namespace {

/// The sizes that a message says at its end, in front of what it says of inputs: `…, where n = 3,
/// l = 0, %p[0] = 1`.
std::map<std::string, int64_t> SizesIn(const std::string& message) {
  const std::string where = ", where ";
  std::map<std::string, int64_t> sizes;
  size_t at = message.rfind(where);
  std::stringstream rest(at == std::string::npos ? "" : message.substr(at + where.size()));
  std::string name, equals, value;
  while (rest >> name >> equals >> value && !name.starts_with('%')) {
    sizes[name] = std::stoll(value);
  }
  return sizes;
}

/// Whether there are errors that have nothing to do with synchronisation or bounds.
bool AreOthers(const std::set<DiagnosticKind>& errors) {
  static const std::set<DiagnosticKind> kOurs = {
      DiagnosticKind::Bounds,      DiagnosticKind::EventCount,    DiagnosticKind::EventRange,
      DiagnosticKind::EventOrder,  DiagnosticKind::EventCycle,    DiagnosticKind::EventUnused,
      DiagnosticKind::BoundsProof, DiagnosticKind::CountProof,    DiagnosticKind::OrderProof,
      DiagnosticKind::Race,        DiagnosticKind::IterationRace, DiagnosticKind::Coverage,
      DiagnosticKind::Via,         DiagnosticKind::ViaProof};
  return !std::all_of(errors.begin(), errors.end(),
                      [](DiagnosticKind kind) { return kOurs.contains(kind); });
}

}  // namespace

CheckResult Check(const std::string& text, const std::vector<Override>& constants) {
  CheckResult result;
  SourceFile source("mutant.etir", text);
  Diagnostics diagnostics;
  auto add_errors = [&](const Diagnostics& from) {
    for (const Diagnostic& diagnostic : from.all()) {
      if (diagnostic.severity == Severity::Error) {
        result.errors.insert(diagnostic.kind);
      }
    }
    result.messages += RenderText(from, &source);
  };
  result.module = Parse(source, diagnostics);
  if (result.module && OverrideConstants(*result.module, constants, diagnostics)) {
    result.verified = VerifyAllButDependences(*result.module, diagnostics);
  }
  add_errors(diagnostics);
  result.ill_formed = !result.module || AreOthers(result.errors);
  if (result.ill_formed) {
    return result;
  }
  Module lowered = *result.module;  // the oracle looks at the slices as they are written
  LowerSlices(lowered);
  Diagnostics of_dependences;
  result.verified = result.verified && VerifyDependences(lowered, of_dependences);
  add_errors(of_dependences);
  result.ill_formed = AreOthers(result.errors);
  if (!result.ill_formed) {
    Diagnostics proofs;
    result.report = Prove(lowered, true, proofs);
    result.AddRefutations(proofs);
    add_errors(proofs);
  }
  return result;
}

void CheckResult::AddRefutations(const Diagnostics& proofs) {
  proofs_refute = proofs.HasErrors();
  for (const Diagnostic& diagnostic : proofs.all()) {
    // Tasks of one call are in no order, which is a rule: those of the launches that are judged may
    // happen to run in the right one.
    bool rule = diagnostic.kind == DiagnosticKind::OrderProof &&
                diagnostic.message.find("waits for itself") != std::string::npos;
    if (diagnostic.severity == Severity::Error && !rule) {
      refuted.push_back({diagnostic.kind, SizesIn(diagnostic.message)});
    }
  }
}

}  // namespace etc::mutation
