// Precedence, literals and the breaking of long lines.
#include <limits>

#include "ir/rewrite.h"
#include "parse.h"

namespace etc {
namespace {

TEST_CASE("parentheses that change nothing go, the others stay") {
  const std::pair<const char*, const char*> cases[] = {
      {"((a)) + (b * c)", "a + b * c"},
      {"(a + b) * c", "(a + b) * c"},
      {"a - (b - c)", "a - (b - c)"},
      {"(a - b) - c", "a - b - c"},
      {"a - (b + c)", "a - (b + c)"},
      {"a * (b / c)", "a * (b / c)"},
      {"(a * b) / c % d", "a * b / c % d"},
      {"a / (b * c)", "a / (b * c)"},
      {"-(a + b)", "-(a + b)"},
      {"-a * b", "-a * b"},
      {"-(a * b)", "-(a * b)"},
      {"- - a", "-(-a)"},
      {"a - -b", "a - -b"},
      {"!(p && q) || p", "!(p && q) || p"},
      {"(p || q) && p", "(p || q) && p"},
      {"p || (q && p)", "p || q && p"},
      {"(a < b) == (c < d)", "a < b == c < d"},
      {"a < (b == c)", "a < (b == c)"},
      {"a+b<c*d&&p", "a + b < c * d && p"},
      {"a%b", "a % b"},
      {"a %b", "a % b"},
      {"(a+b) %c", "(a + b) % c"},
  };
  for (const auto& [given, expected] : cases) {
    CHECK(FormattedExpr(given) == expected);
  }
}

TEST_CASE("the body of a reduction extends as far as a product") {
  const std::pair<const char*, const char*> cases[] = {
      {"sum(k: 4) a * b + c", "sum(k: 4) a * b + c"},
      {"(sum(k: 4) a * b) + c", "sum(k: 4) a * b + c"},
      {"sum(k: 4) (a * b + c)", "sum(k: 4) (a * b + c)"},
      {"(sum(k: 4) a) * b", "(sum(k: 4) a) * b"},
      {"a * sum(k: 4) b * c", "a * sum(k: 4) b * c"},
      {"a * (sum(k: 4) b) * c", "a * (sum(k: 4) b) * c"},
      {"(-sum(k: 4) a) * b", "-(sum(k: 4) a) * b"},
      {"-sum(k: 4) a * b", "-sum(k: 4) a * b"},
      {"sum(k: 4) sum(j: k) k * j", "sum(k: 4) sum(j: k) k * j"},
      {"c + sum(k: 4) a / b - c", "c + sum(k: 4) a / b - c"},
      {"(sum(k: 4) a) % b", "(sum(k: 4) a) % b"},
      {"max(k: 2..4, j: n) %x[k] * k", "max(k: 2..4, j: n) %x[k] * k"},
      {"max(a, b) + min(k: 4) k", "max(a, b) + min(k: 4) k"},
      {"argmax(k: n) %x[k]", "argmax(k: n) %x[k]"},
  };
  for (const auto& [given, expected] : cases) {
    CHECK(FormattedExpr(given) == expected);
  }
}

TEST_CASE("a reduction under a product keeps its meaning") {
  Parsed parsed = ParseText(kNames + "const v = 2 * (sum(k: 4) a) * b + c;");
  REQUIRE(parsed.module);
  const Module& module = *parsed.module;
  const Symbol& symbol = module.symbols[std::get<SymbolId>(module.items.back())];
  const auto& sum = std::get<Binary>(module.exprs[symbol.value]);
  const auto& product = std::get<Binary>(module.exprs[sum.left]);
  CHECK(product.op == BinaryOp::Mul);
  CHECK(std::holds_alternative<SymbolRef>(module.exprs[product.right]));
}

TEST_CASE("loads, casts and intrinsics") {
  for (const char* expr :
       {"%x[%i[t]]",     "bf16(%x[t] + 1.0)", "f32(a)",   "bool(a)",     "select(p, a, b)",
        "ceildiv(a, b)", "align(a, b)",       "abs(-a)",  "exp(1.0)",    "log(1.0)",
        "sqrt(1.0)",     "rsqrt(1.0)",        "sin(1.0)", "cos(1.0)",    "tanh(1.0)",
        "pow(2.0, 3.0)", "lower(n)",          "upper(n)", "min(a, sms)", "!p",
        "true"}) {
    CHECK(FormattedExpr(expr) == expr);
  }
  CHECK(ParseText(kNames + "const v = ceildiv(a);").kinds == std::vector{DiagnosticKind::Syntax});
  CHECK(ParseText(kNames + "const v = nearest(a);").kinds ==
        std::vector{DiagnosticKind::UnknownName});
}

TEST_CASE("floats are short, read back as they were, and look like floats") {
  const std::pair<const char*, const char*> cases[] = {
      {"1.0", "1.0"},    {"1.50", "1.5"},
      {"1e-6", "1e-6"},  {"0.000001", "1e-6"},
      {"1e0", "1.0"},    {"100000.0", "100000.0"},
      {"1E+22", "1e22"}, {"1e100", "1e100"},
      {"0.1", "0.1"},    {"3.4028234663852886e38", "3.4028234663852886e38"},
      {"-2.50", "-2.5"},
  };
  for (const auto& [given, expected] : cases) {
    CHECK(FormattedExpr(given) == expected);
  }
}

TEST_CASE("literals that passes make print as expressions that parse") {
  Parsed parsed = ParseText("etir 1;");
  REQUIRE(parsed.module);
  Module& module = *parsed.module;
  auto print = [&](Expr expr) { return Print(module, module.AddExpr(std::move(expr))); };
  ExprId least = module.AddExpr(IntLiteral{std::numeric_limits<int64_t>::min()});
  ExprId minus_two = module.AddExpr(IntLiteral{-2});
  CHECK(print(Binary{BinaryOp::Mul, least, minus_two}) == "(-9223372036854775807 - 1) * -2");
  CHECK(print(Unary{UnaryOp::Neg, minus_two}) == "-(-2)");
  CHECK(print(FloatLiteral{-0.0}) == "-0.0");
}

TEST_CASE("two things of one name print under two names") {
  Parsed parsed = ParseText("etir 1; device @f(%x: out f32[4]) tasks (i: 4) {}");
  REQUIRE(parsed.module);
  Module& module = *parsed.module;
  Device& device = module.devices[DeviceId{0}];
  SymbolId inner = module.symbols.Add(module.symbols[device.tasks[0].var]);
  ExprId four = MakeInt(module, 4);
  StmtId store = module.AddStmt(
      Assign{device.params[0], {MakeRef(module, inner)}, MakeRef(module, device.tasks[0].var)});
  device.body.push_back(module.AddStmt(For{{{inner, {}, four}}, {store}}));
  std::string text = Print(module);
  CHECK(text.find("for (i_2: 4) %x[i_2] = i;") != std::string::npos);
  CHECK(Formatted(text) == text);
}

TEST_CASE("long heads have a line for each parameter, long calls one for each clause") {
  std::string wide(40, 'w');
  std::string text = Formatted(
      "etir 1; dim n in 1..4; device @" + wide +
      "(%aaaaaaaaaaaaaaa: f32[n], %bbbbbbbbbbbbbbbbbbbb: "
      "out f32[n]) tasks (i: n) {} graph @g(%a: f32[n], %b: out f32[n]) { event %done[n] count 1; "
      "call @" +
      wide + "(%a, %b) wait (i) => %done[i] notify (i) => %done[i + 100000 * n]; }");
  CHECK(text.find("device @" + wide +
                  "(\n  %aaaaaaaaaaaaaaa: f32[n],\n  %bbbbbbbbbbbbbbbbbbbb: out f32[n]\n"
                  ") tasks (i: n) {\n}\n") != std::string::npos);
  CHECK(text.find("  call @" + wide +
                  "(%a, %b)\n      wait (i) => %done[i]\n      notify (i) => %done[i + 100000 * n];"
                  "\n") != std::string::npos);
}

TEST_CASE("long expressions break at weak operators, under their bracket") {
  std::string name(30, 'v');
  std::string text = Formatted("etir 1; const " + name + " = 1; const w = max(" + name + " * " +
                               name + ", " + name + " + " + name + ");");
  CHECK(text.find("const w = max(" + name + " * " + name + ",\n              " + name + " + " +
                  name + ");\n") != std::string::npos);
}

TEST_CASE("no line of a long program is longer than 100 columns") {
  std::string sum = "a";
  for (int i = 0; i < 150; ++i) {
    sum += i % 3 == 0 ? " + max(b, c * (d - 1))" : i % 3 == 1 ? " * c" : " - d";
  }
  std::string text = Formatted(kNames + "const v = " + sum + ";");
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    CHECK(end - begin <= 100);
    begin = end + 1;
  }
}

}  // namespace
}  // namespace etc
