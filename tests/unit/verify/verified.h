// Verification of a text in one line, for tests.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "text/parser.h"
#include "verify/verify.h"

namespace etc {

struct Verified {
  std::unique_ptr<Module> module;
  bool ok = false;
  std::string report;  // the rendered diagnostics
  std::vector<DiagnosticKind> kinds;
};

inline Verified VerifyText(const std::string& text) {
  SourceFile source("t.etir", text);
  Diagnostics diagnostics;
  Verified verified;
  verified.module = Parse(source, diagnostics);
  INFO(RenderText(diagnostics, &source));
  REQUIRE(verified.module != nullptr);
  verified.ok = Verify(*verified.module, diagnostics);
  verified.report = RenderText(diagnostics, &source);
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    verified.kinds.push_back(diagnostic.kind);
  }
  return verified;
}

}  // namespace etc
