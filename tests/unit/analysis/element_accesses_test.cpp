#include "analysis/element_accesses.h"

#include <doctest/doctest.h>

#include <string>

#include "ir/printer.h"
#include "text/parser.h"

namespace etc {
namespace {

/// `read x[i, k] for i k if k < 4`, a line for each access.
std::string AccessesOf(const std::string& body) {
  SourceFile source("t.etir",
                    "etir 1;\n"
                    "device @f(%x: f32[8, 8], %n: i32[8], %y: inout f32[8], l: int in 0..4) "
                    "tasks (i: 8) {\n" +
                        body + "\n}\n");
  Diagnostics diagnostics;
  std::unique_ptr<Module> module = Parse(source, diagnostics);
  INFO(RenderText(diagnostics, &source));
  REQUIRE(module != nullptr);
  std::string lines;
  for (const ElementAccess& access : CollectAccesses(*module, module->devices[DeviceId{0}])) {
    lines += (access.writes ? "write " : "read ") + module->tensors[access.tensor].name;
    for (size_t i = 0; i < access.indices.size(); ++i) {
      lines += (i == 0 ? "[" : ", ") + Print(*module, access.indices[i]);
    }
    lines += "] for";
    for (const BodyVariable& variable : access.variables) {
      lines += " " + module->symbols[variable.symbol].name;
      lines += variable.is_let ? " = " + Print(*module, variable.lo) : "";
    }
    for (const Guard& guard : access.guards) {
      lines += (guard.wanted ? " if " : " unless ") + Print(*module, guard.condition);
    }
    lines += "\n";
  }
  return lines;
}

TEST_CASE("an access has the coordinates, the scalars and the loops around it") {
  CHECK(AccessesOf("for (k: %n[i]) %y[i] += %x[i, k];") ==
        "read n[i] for i l\n"
        "read x[i, k] for i l k\n"
        "read y[i] for i l k\n"
        "write y[i] for i l k\n");
}

TEST_CASE("variables end with their scope") {
  CHECK(AccessesOf("for (k: 4) { let a = %n[k]; %y[a] = 0.0; } %y[i] = sum(k: 8) %x[i, k];") ==
        "read n[k] for i l k\n"
        "write y[a] for i l k a = %n[k]\n"
        "read x[i, k] for i l k\n"
        "write y[i] for i l\n");
}

TEST_CASE("an access has the conditions under which it happens") {
  CHECK(AccessesOf("if (i < l) { %y[i] = 1.0; } else { %y[0] = select(i < 4, %x[i, 0], 2.0); }") ==
        "write y[i] for i l if i < l\n"
        "read x[i, 0] for i l unless i < l if i < 4\n"
        "write y[0] for i l unless i < l\n");
  CHECK(AccessesOf("if (i < 4 && %n[i] > 0) { %y[i] = 1.0; }") ==
        "read n[i] for i l if i < 4\n"
        "write y[i] for i l if i < 4 && %n[i] > 0\n");
}

}  // namespace
}  // namespace etc
