#include "check.h"

#include <algorithm>

#include "text/parser.h"
#include "verify/verify.h"

namespace etc::mutation {

CheckResult Check(const std::string& text, const std::vector<Override>& constants) {
  CheckResult result;
  SourceFile source("mutant.etir", text);
  Diagnostics diagnostics;
  result.module = Parse(source, diagnostics);
  if (result.module && OverrideConstants(*result.module, constants, diagnostics)) {
    result.verified = Verify(*result.module, diagnostics);
  }
  auto add_errors = [&](const Diagnostics& from) {
    for (const Diagnostic& diagnostic : from.all()) {
      if (diagnostic.severity == Severity::Error) {
        result.errors.insert(diagnostic.kind);
      }
    }
    result.messages += RenderText(from, &source);
  };
  add_errors(diagnostics);
  if (!result.IllFormed()) {
    Diagnostics proofs;
    result.report = Prove(*result.module, true, proofs);
    result.proofs_refute = proofs.HasErrors();
    add_errors(proofs);
  }
  return result;
}

bool CheckResult::IllFormed() const {
  static const std::set<DiagnosticKind> kOurs = {
      DiagnosticKind::Bounds,      DiagnosticKind::EventCount, DiagnosticKind::EventRange,
      DiagnosticKind::EventOrder,  DiagnosticKind::EventCycle, DiagnosticKind::EventUnused,
      DiagnosticKind::BoundsProof, DiagnosticKind::CountProof, DiagnosticKind::OrderProof,
      DiagnosticKind::Race};
  return !module || !std::all_of(errors.begin(), errors.end(),
                                 [](DiagnosticKind kind) { return kOurs.contains(kind); });
}

}  // namespace etc::mutation
