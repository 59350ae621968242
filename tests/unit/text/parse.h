// Parsing and printing in one line, for tests.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "ir/printer.h"
#include "text/parser.h"

namespace etc {

struct Parsed {
  std::unique_ptr<Module> module;
  std::string report;  // the rendered diagnostics
  std::vector<DiagnosticKind> kinds;
};

inline Parsed ParseText(const std::string& text) {
  SourceFile source("t.etir", text);
  Diagnostics diagnostics;
  Parsed parsed;
  parsed.module = Parse(source, diagnostics);
  parsed.report = RenderText(diagnostics, &source);
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    parsed.kinds.push_back(diagnostic.kind);
  }
  return parsed;
}

/// The canonical text of a correct program. Checks that it is its own canonical text.
inline std::string Formatted(const std::string& text) {
  Parsed parsed = ParseText(text);
  INFO(text);
  INFO(parsed.report);
  REQUIRE(parsed.module != nullptr);
  std::string once = Print(*parsed.module);
  INFO(once);
  Parsed again = ParseText(once);
  INFO(again.report);
  REQUIRE(again.module != nullptr);
  CHECK(Print(*again.module) == once);
  return once;
}

/// Declarations that the expressions of tests may use.
inline const std::string kNames =
    "etir 1;\nconst a = 1;\nconst b = 2;\nconst c = 3;\nconst d = 4;\nconst p = true;\n"
    "const q = false;\ndim n in 1..64;\n";

/// The canonical text of an expression over those and the tensors %x, %y and %i.
inline std::string FormattedExpr(const std::string& expr) {
  std::string text = Formatted(kNames +
                               "\ndevice @f(%x: f32[n], %y: out f32[n], %i: i32[n]) tasks "
                               "(t: n) {\n  let v = " +
                               expr + ";\n}\n");
  size_t begin = text.find("let v = ") + 8;
  return text.substr(begin, text.find(";\n}") - begin);
}

}  // namespace etc
