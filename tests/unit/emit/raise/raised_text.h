// A kernel's text and what is decided about it.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "emit/raise/raise.h"
#include "text/parser.h"

namespace etc {

struct RaisedText {
  explicit RaisedText(const std::string& text, Arch arch = Arch::Sm90a) {
    SourceFile source("t.etir", "etir 1;\n" + text);
    Diagnostics diagnostics;
    auto parsed = Parse(source, diagnostics);
    INFO(RenderText(diagnostics, &source));
    REQUIRE(parsed);
    module = std::make_unique<Module>(std::move(*parsed));
    raised = std::make_unique<RaisedModule>(Raise(*module, arch));
  }

  const RaisedKernel& Kernel(size_t index = 0) const { return raised->kernels[index]; }
  /// The shares in program order.
  const RaisedShare& Share(size_t index) const {
    return Kernel().shares.at(SharesOf(*module, Kernel().kernel)[index].share);
  }
  bool Says(const std::string& line) const {
    return Describe(*raised).find("// " + line + "\n") != std::string::npos;
  }

  std::unique_ptr<Module> module;
  std::unique_ptr<RaisedModule> raised;
};

}  // namespace etc
