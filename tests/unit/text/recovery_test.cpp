// Several errors in one run, and none that only follows from another.
#include "parse.h"

namespace etc {
namespace {

using K = DiagnosticKind;

std::vector<K> Kinds(const std::string& text) {
  Parsed parsed = ParseText("etir 1;\n" + text);
  INFO(parsed.report);
  CHECK(parsed.module == nullptr);
  return parsed.kinds;
}

TEST_CASE("each broken constant is one error") {
  CHECK(Kinds("const a = ;\nconst b = 1 +;\nconst c = a + b + );\nconst d = c;") ==
        std::vector{K::Syntax, K::Syntax, K::Syntax});
}

TEST_CASE("a broken definition defines its name") {
  CHECK(Kinds("graph @g(%x: f32[1]) { %p = buffer f33[1]; event %e count ;\n"
              "call @f(%p) wait (i) => %e; }") ==
        std::vector{K::UnknownName, K::Syntax, K::UnknownName});
}

TEST_CASE("a missing semicolon at the end of a line costs one error") {
  CHECK(Kinds("const a = 1\nconst b = a\nrequire a == b;") == std::vector{K::Syntax, K::Syntax});
  CHECK(Kinds("graph @g(%x: f32[1]) {\n  event %e count 1\n  event %f count 1 }") ==
        std::vector{K::Syntax, K::Syntax});
}

TEST_CASE("a wrong head does not hide the errors of its body, nor cause others there") {
  CHECK(Kinds("device @f(%x f32[4]) tasks (i: 4) { %x[i] = 1.0; %x[i] = = 2.0; %x[i] = ; }") ==
        std::vector{K::Syntax, K::Syntax, K::Syntax});
  CHECK(Kinds("device @f(%x: out f32[4]) tasks (i: 4) { for (k 4) { %x[k] = 1.0; %x[k] = ; } "
              "%x[j] = 2.0; }") == std::vector{K::Syntax, K::Syntax, K::UnknownName});
}

TEST_CASE("a missing brace ends at the next item") {
  CHECK(Kinds("device @f(%x: out f32[4]) tasks (i: 4) {\n  %x[i] = 1.0;\n"
              "graph @g(%x: out f32[4]) {\n  call @f(%x);\n  call @h(%x);\n}") ==
        std::vector{K::Syntax, K::UnknownName});
}

TEST_CASE("a brace too many is one error") {
  CHECK(Kinds("graph @g(%x: f32[4]) { } }\nconst a = 1;\nconst b = c;") ==
        std::vector{K::Syntax, K::UnknownName});
}

TEST_CASE("an unfinished call ends at the next statement") {
  CHECK(Kinds("device @f(%x: f32[4]) tasks (i: 4) {}\n"
              "graph @g(%x: f32[4]) {\n  call @f(%x,\n  call @f(%y);\n  call @f(%x);\n}") ==
        std::vector{K::Syntax, K::UnknownName});
}

TEST_CASE("an unknown name is reported once in a function") {
  CHECK(Kinds("device @f(%x: out f32[4]) tasks (i: 4) { %x[i] = y; %x[i] = y + y; }\n"
              "device @g(%x: out f32[4]) tasks (i: 4) { %x[i] = y; }") ==
        std::vector{K::UnknownName, K::UnknownName});
}

TEST_CASE("what the lexer reported is not reported again") {
  CHECK(Kinds("const a = 1 $ 2;\nconst b = ?;\nconst c = d;") ==
        std::vector{K::Lexical, K::Lexical, K::UnknownName});
}

TEST_CASE("keywords are no names, and the message says so") {
  Parsed parsed = ParseText("etir 1; const event = 1;");
  CHECK(parsed.report.find("expected a name, found the keyword `event`") != std::string::npos);
}

std::string Repeated(const std::string& text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) {
    repeated += text;
  }
  return repeated;
}

using Definition = std::string (*)(int);

/// A first definition, and so many more.
std::string Chain(const std::string& first, int times, Definition next) {
  std::string text = first;
  for (int i = 1; i <= times; ++i) {
    text += next(i);
  }
  return text;
}

TEST_CASE("what `let` and `fn` stand for may not grow without end") {
  Definition let = [](int i) {
    std::string before = std::to_string(i - 1);
    return "let a" + std::to_string(i) + " = a" + before + " + a" + before + ";\n";
  };
  Definition function = [](int i) {
    std::string before = std::to_string(i - 1);
    return "fn g" + std::to_string(i) + "(x) = g" + before + "(x) * g" + before + "(x);\n";
  };
  CHECK(ParseText("etir 1;\n" + Chain("let a0 = 1;\n", 12, let)).kinds.empty());
  CHECK(ParseText("etir 1;\n" + Chain("fn g0(x) = x;\n", 12, function)).kinds.empty());
  // Where it is too much, 0 stands for it, and the next ones grow anew.
  CHECK(Kinds(Chain("let a0 = 1;\n", 20, let)) == std::vector{K::NestingTooDeep});
  CHECK(Kinds(Chain("fn g0(x) = x;\n", 20, function)) == std::vector{K::NestingTooDeep});
}

TEST_CASE("deep nesting is an error, not a crash") {
  constexpr int kDeep = 100000;
  CHECK(Kinds("const a = " + Repeated("(", kDeep) + "1" + Repeated(")", kDeep) +
              ";\nconst b = c;") == std::vector{K::NestingTooDeep, K::UnknownName});
  CHECK(Kinds("const a = " + Repeated("-", kDeep) + "1;") == std::vector{K::NestingTooDeep});
  CHECK(Kinds("const a = 1" + Repeated(" + 1", kDeep) + ";") == std::vector{K::NestingTooDeep});
  CHECK(Kinds("const a = " + Repeated("abs(", kDeep) + "1;") == std::vector{K::NestingTooDeep});
  CHECK(Kinds("device @f(%x: out f32[4]) tasks (i: 4) {" + Repeated("if (true) {", kDeep) +
              Repeated("}", kDeep) + "}\nconst b = c;") ==
        std::vector{K::NestingTooDeep, K::UnknownName});
  CHECK(Kinds("device @f(%x: out f32[4]) tasks (i: 4) {" + Repeated("if (true) ", kDeep) +
              "%x[i] = 0.0; }") == std::vector{K::NestingTooDeep});
  CHECK(Kinds("graph @f(%x: out f32[4]) {" + Repeated("region schedule(static) {", kDeep) +
              Repeated("}", kDeep) + "}") == std::vector{K::NestingTooDeep});
  CHECK(Kinds("device @f(%x: out f32[4]) tasks (i: 4) { %x" + Repeated("[%x", kDeep) + "; }")
            .size() >= 1);
}

TEST_CASE("moderate nesting is fine") {
  Formatted("etir 1; const a = " + Repeated("(1 + ", 90) + "1" + Repeated(")", 90) + ";");
}

}  // namespace
}  // namespace etc
