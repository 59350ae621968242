// Expressions from text, for tests.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "ir/module.h"
#include "text/parser.h"

namespace etc {

/// A module with the dimensions n in 1..64 and m in 16..256 multiple 16, some constants, and a body
/// with the index variables i and j and the tensors %x (f32), %ids (i32) and %small (u8).
struct Expression {
  std::unique_ptr<Module> module;
  ExprId id;

  SymbolId Symbol(const std::string& name) const {
    for (SymbolId symbol : module->symbols.Ids()) {
      if (module->symbols[symbol].name == name) {
        return symbol;
      }
    }
    FAIL("no such symbol: ", name);
    return {};
  }
};

inline Expression ParseExpression(const std::string& text) {
  SourceFile source("t.etir",
                    "etir 1;\nconst six = 6;\nconst half = 0.5;\nconst yes = true;\n"
                    "const twelve = six * 2;\ndim n in 1..64;\ndim m in 16..256 multiple 16;\n"
                    "device @f(%x: f32[n], %ids: i32[n] in 0..n, %small: u8[n], %y: out f32[n])\n"
                    "    tasks (i: n, j: 4) {\n  let value = " +
                        text + ";\n}\n");
  Diagnostics diagnostics;
  Expression expression{Parse(source, diagnostics), {}};
  INFO(RenderText(diagnostics, &source));
  REQUIRE(expression.module != nullptr);
  const Module& module = *expression.module;
  for (StmtId id : module.stmts.Ids()) {
    if (const auto* let = std::get_if<Let>(&module.stmts[id])) {
      expression.id = let->value;
    }
  }
  return expression;
}

}  // namespace etc
