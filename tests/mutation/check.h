// What `etc check` says about a text.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analysis/proofs/proofs.h"
#include "ir/module.h"
#include "ir/override.h"
#include "support/diagnostics.h"

namespace etc::mutation {

struct CheckResult {
  std::unique_ptr<Module> module;  // null where it does not parse
  bool verified = false;
  bool ill_formed = false;
  std::set<DiagnosticKind> errors;
  ProofReport report;          // empty where the program is ill-formed
  bool proofs_refute = false;  // they report an error, whatever the verifier says
  struct Refutation {
    DiagnosticKind kind;
    std::map<std::string, int64_t> sizes;
  };
  /// What each such error names, but for those that only hold the program to a rule.
  std::vector<Refutation> refuted;
  std::string messages;

  /// What the proofs have found wrong.
  void AddRefutations(const Diagnostics& proofs);
  bool Accepted() const { return verified && errors.empty(); }
  /// An error that has nothing to do with synchronisation or bounds: a type, a rank, a name.
  bool IllFormed() const { return ill_formed; }
};

CheckResult Check(const std::string& text, const std::vector<Override>& constants);

}  // namespace etc::mutation
