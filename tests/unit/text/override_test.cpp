#include "ir/override.h"

#include <cmath>

#include "ir/evaluate.h"
#include "parse.h"

namespace etc {
namespace {

const char* const kText =
    "etir 1;\nconst n = 4;\nconst twice = 2 * n;\nconst eps = 1e-6;\nconst wide = true;\n";

TEST_CASE("overrides replace constants, and derived constants follow") {
  Parsed parsed = ParseText(kText);
  REQUIRE(parsed.module);
  Diagnostics diagnostics;
  CHECK(OverrideConstants(*parsed.module,
                          {{"n", int64_t{8}, "-D", true},
                           {"eps", int64_t{1}, "config.json", false},
                           {"wide", false, "config.json", false},
                           {"architectures", int64_t{1}, "config.json", false}},
                          diagnostics));
  const Module& module = *parsed.module;
  CHECK(EvaluateInt(module, module.symbols[std::get<SymbolId>(module.items[1])].value, {}) == 16);
  CHECK(Print(module) ==
        "etir 1;\nconst n = 8;\nconst twice = 2 * n;\nconst eps = 1.0;\nconst wide = false;\n");
}

TEST_CASE("a constant that is made of a limit of the target is replaced") {
  Parsed parsed = ParseText("etir 1;\nconst n = min(4, target_sms);\n");
  REQUIRE(parsed.module);
  Diagnostics diagnostics;
  CHECK(OverrideConstants(*parsed.module, {{"n", int64_t{8}, "-D", true}}, diagnostics));
  CHECK(Print(*parsed.module) == "etir 1;\nconst n = 8;\n");
}

TEST_CASE("wrong overrides are errors of their origin") {
  Parsed parsed = ParseText(kText);
  REQUIRE(parsed.module);
  Diagnostics diagnostics;
  CHECK_FALSE(OverrideConstants(*parsed.module,
                                {{"m", int64_t{8}, "-D", true},
                                 {"n", 1.5, "-D", true},
                                 {"wide", int64_t{1}, "config.json", false},
                                 {"eps", std::nan(""), "-D", true}},
                                diagnostics));
  REQUIRE(diagnostics.error_count() == 4);
  CHECK(diagnostics.all()[0].message == "`m` from -D is not a constant of the program");
  CHECK(diagnostics.all()[1].message ==
        "the constant `n` is of kind int, but -D gives it a value of kind float");
  CHECK(diagnostics.all()[2].kind == DiagnosticKind::Config);
  CHECK(diagnostics.all()[3].kind == DiagnosticKind::Define);
  CHECK(Print(*parsed.module).find("const n = 4;") != std::string::npos);
}

}  // namespace
}  // namespace etc
