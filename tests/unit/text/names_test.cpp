#include "text/names.h"

#include <doctest/doctest.h>

#include "parse.h"

namespace etc {
namespace {

TEST_CASE("the nearest name is close, and no name is near to one letter") {
  Names<int> names;
  names.Declare("hidden_size", 1, {});
  names.Declare("x", 2, {});
  CHECK(names.Nearest("hiden_sise") == "hidden_size");
  CHECK(names.Nearest("vocab_size").empty());
  CHECK(names.Nearest("y").empty());
}

TEST_CASE("a scope ends with its names, and the first definition stays") {
  Names<int> names;
  CHECK(names.Declare("a", 1, {}) == nullptr);
  size_t mark = names.Mark();
  CHECK(names.Declare("b", 2, {}) == nullptr);
  REQUIRE(names.Declare("a", 3, {}) != nullptr);
  CHECK(names.Declare("a", 3, {})->value == 1);
  names.Release(mark);
  CHECK(names.Find("b") == nullptr);
  CHECK(names.Find("a") != nullptr);
}

TEST_CASE("unknown names are reported with the nearest one") {
  Parsed parsed = ParseText(
      "etir 1;\ndim batch in 1..4;\ndevice @f(%x: f32[bacth], %out: out f32[batch])\n"
      "    tasks (i: batch) { %ouut[i] = %x[i]; }\n");
  CHECK(parsed.module == nullptr);
  CHECK(parsed.report.find("t.etir:3:19: error: no scalar `bacth` is defined here [unknown-name]\n"
                           "     3 | device @f(%x: f32[bacth], %out: out f32[batch])\n"
                           "       |                   ^~~~~\n"
                           "t.etir:2:5: note: did you mean `batch`?\n") != std::string::npos);
  CHECK(parsed.report.find("no tensor `%ouut` is defined here") != std::string::npos);
  CHECK(parsed.report.find("did you mean `%out`?") != std::string::npos);
}

TEST_CASE("names may be used after their definition only") {
  CHECK(ParseText("etir 1; const a = b; const b = 1;").kinds ==
        std::vector{DiagnosticKind::UnknownName});
  CHECK(ParseText("etir 1; const a = a;").kinds == std::vector{DiagnosticKind::UnknownName});
  CHECK(ParseText("etir 1; graph @g(%x: f32[1]) { call @f(%x); }\n"
                  "device @f(%x: f32[1]) tasks (i: 1) {}")
            .kinds == std::vector{DiagnosticKind::UnknownName});
  CHECK(ParseText("etir 1; device @f(%x: out f32[4]) tasks (i: 4) {\n"
                  "  for (k: 2) { let v = 1; }\n  %x[i] = v;\n  %x[i] = k;\n}")
            .kinds == std::vector{DiagnosticKind::UnknownName, DiagnosticKind::UnknownName});
}

TEST_CASE("a name hides no other that is visible") {
  const char* duplicates[] = {
      "const a = 1; const a = 2;",
      "const a = 1; dim a in 1..2;",
      "const sms = 1;",
      "const a = 1; device @f(%x: f32[1]) tasks (a: 1) {}",
      "device @f(%x: f32[1], %x: f32[1]) tasks (i: 1) {}",
      "device @f(%x: f32[1]) tasks (i: 1) { for (i: 2) %x[i] = 0.0; }",
      "device @f(%x: f32[1]) tasks (i: 1) { local %x: f32[1]; }",
      "device @f(%x: f32[1]) tasks (i: 1) {} device @f(%x: f32[1]) tasks (i: 1) {}",
      "graph @f(%x: f32[1]) {} graph @f(%x: f32[1]) {}",
      "graph @f(%x: f32[1]) { event %x count 1; }",
      "graph @f(%x: f32[1]) { repeat l in 0..2 { repeat l in 0..2 { } } }",
  };
  for (const char* text : duplicates) {
    INFO(text);
    Parsed parsed = ParseText(std::string("etir 1; ") + text);
    CHECK(parsed.kinds == std::vector{DiagnosticKind::DuplicateName});
    CHECK(parsed.report.find("note: ") != std::string::npos);
  }
}

TEST_CASE("separate scopes may use the same names") {
  Formatted(
      "etir 1; device @f(%x: out f32[4]) tasks (i: 4) { for (k: 4) %x[k] = 0.0; "
      "for (k: 4) %x[k] = sum(j: 2) 1.0; let v = sum(j: 2) 2.0; }\n"
      "device @g(%x: out f32[4]) tasks (i: 4) {} graph @gr(%x: out f32[4]) { call @f(%x); }\n"
      "kernel @gr(%x: out f32[4]) of @gr static { launch consumers 8 shared 0; on sm {} }");
}

TEST_CASE("a tensor is no event, and an event no tensor") {
  std::string start =
      "etir 1; device @f(%x: out f32[4]) tasks (i: 4) {} graph @h(%x: out f32[4]) {} "
      "graph @g(%x: out f32[4]) { event %e count 4; ";
  CHECK(ParseText(start + "call @f(%e); }").kinds == std::vector{DiagnosticKind::UnknownName});
  CHECK(ParseText(start + "call @f(%x) wait (i) => %x; }").kinds ==
        std::vector{DiagnosticKind::UnknownName});
}

}  // namespace
}  // namespace etc
