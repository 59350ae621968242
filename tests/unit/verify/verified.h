// Verification of a text in one line, for tests.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "expand/expand.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc {

struct Verified {
  std::unique_ptr<Module> module;
  bool ok = false;
  std::string report;  // the rendered diagnostics
  std::vector<DiagnosticKind> kinds;
};

/// Imports are looked for in the folder `library`.
inline Verified VerifyText(const std::string& text, const std::string& library = ".") {
  SourceFile source("t.etir", text);
  Diagnostics diagnostics;
  Verified verified;
  auto import = [&](const std::string& name, const std::string&) -> std::optional<ImportedText> {
    std::ifstream file(std::filesystem::path(library) / name);
    std::stringstream imported;
    imported << file.rdbuf();
    return file ? std::optional(ImportedText{name, imported.str()}) : std::nullopt;
  };
  verified.module = Parse(source, import, diagnostics);
  INFO(RenderText(diagnostics, &source));
  REQUIRE(verified.module != nullptr);
  REQUIRE(Expand(*verified.module, {132, 232448}, diagnostics));
  verified.ok = Verify(*verified.module, diagnostics);
  verified.report = RenderText(diagnostics, &source);
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    verified.kinds.push_back(diagnostic.kind);
  }
  return verified;
}

}  // namespace etc
