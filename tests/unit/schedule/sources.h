// What the tests of the passes share.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "analysis/proofs/proofs.h"
#include "ir/printer.h"
#include "schedule/lower.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc {

/// The module of a source that must be right.
inline std::unique_ptr<Module> ParseVerified(const std::string& text) {
  SourceFile source("test.etir", text);
  Diagnostics diagnostics;
  std::unique_ptr<Module> module = Parse(source, diagnostics);
  INFO(RenderText(diagnostics, &source));
  REQUIRE(module);
  REQUIRE(Verify(*module, diagnostics));
  return module;
}

/// Derives events; they must verify, print as a source, and be proved without exception.
inline std::string Derive(const std::string& text) {
  auto module = ParseVerified(text);
  Diagnostics diagnostics;
  REQUIRE(DeriveEvents(*module, {}, diagnostics));
  std::string printed = Print(*module);
  INFO(printed);
  auto again = ParseVerified(printed);
  ProofReport report = Prove(*again, true, diagnostics);
  INFO(RenderText(diagnostics, nullptr));
  CHECK(diagnostics.all().empty());
  CHECK(report.races.proved > 0);
  return printed;
}

inline bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace etc
