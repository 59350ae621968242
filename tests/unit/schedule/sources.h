// What the tests of the passes share.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>

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

inline bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace etc
