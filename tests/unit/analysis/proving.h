// Programs and what is proved of them.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "analysis/proofs/proofs.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc {

struct Proved {
  ProofReport report;
  std::string text;  // the rendered diagnostics of the proofs
};

/// A program that parses and passes the verifier.
inline std::unique_ptr<Module> Read(const SourceFile& source) {
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  INFO(RenderText(diagnostics, &source));
  REQUIRE(module != nullptr);
  REQUIRE(Verify(*module, diagnostics));
  return module;
}

inline Proved ProveText(const std::string& text) {
  SourceFile source("t.etir", text);
  auto module = Read(source);
  Diagnostics proofs;
  Proved proved;
  proved.report = Prove(*module, true, proofs);
  proved.text = RenderText(proofs, &source);
  return proved;
}

inline int64_t Refuted(const ProofReport& report) { return report.Refuted(); }

inline std::string ReadExample(const std::string& name) {
  std::ifstream file(std::filesystem::path(ETC_EXAMPLES) / name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The text with its one occurrence of `what` replaced.
inline std::string Replace(std::string text, const std::string& what, const std::string& by) {
  size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(what, at + 1) == std::string::npos);
  return text.replace(at, what.size(), by);
}

}  // namespace etc
