#include "ir/rewrite.h"

#include "expression.h"
#include "ir/evaluate.h"
#include "ir/printer.h"

namespace etc {
namespace {

TEST_CASE("a clone has its symbols replaced and leaves the original alone") {
  Expression e = ParseExpression("i * 4 + select(j > 1, %ids[i], sum(k: j) k) + abs(-i)");
  Module& module = *e.module;
  std::string before = Print(module, e.id);
  ExprId seven = MakeInt(module, 7);
  ExprId copy = Clone(module, e.id, {{e.Symbol("i"), seven}});
  CHECK(Print(module, copy) == "7 * 4 + select(j > 1, %ids[7], sum(k: j) k) + abs(-7)");
  CHECK(Print(module, e.id) == before);
  CHECK_FALSE(Clone(module, ExprId{}, {}));
}

/// What `upper(n)` becomes where n becomes the expression.
std::string UpperOf(const std::string& text) {
  Expression e = ParseExpression("upper(n) + n - (" + text + ")");
  const auto& difference = std::get<Binary>(e.module->exprs[e.id]);
  const ExprId ends = std::get<Binary>(e.module->exprs[difference.left]).left;
  return Print(*e.module, Clone(*e.module, ends, {{e.Symbol("n"), difference.right}}));
}

TEST_CASE("an end of what grows with each dimension is its value at their ends") {
  CHECK(UpperOf("m") == "upper(m)");
  CHECK(UpperOf("6") == "6");
  CHECK(UpperOf("m * 2 + 3") == "upper(m) * 2 + 3");
  CHECK(UpperOf("m * six") == "upper(m) * six");
  CHECK(UpperOf("ceildiv(m - 5, 4)") == "ceildiv(upper(m) - 5, 4)");
  CHECK(UpperOf("align(m / 2, 16)") == "align(upper(m) / 2, 16)");
  CHECK(UpperOf("min(m * m, twelve)") == "min(upper(m) * upper(m), twelve)");
}

TEST_CASE("what may fall has no end that is known") {
  for (std::string text : {"100 - m", "m - m / 2", "m % 5", "m * -2", "m / -2", "m + i",
                           "ceildiv(300, m)", "(m - 100) * m", "max(m, -m)"}) {
    CHECK(UpperOf(text) == "upper(" + text + ")");
  }
}

TEST_CASE("a clone can read other tensors") {
  Expression e = ParseExpression("%x[i] + %x[0]");
  Module& module = *e.module;
  TensorId x{};
  TensorId y{};
  for (TensorId id : module.tensors.Ids()) {
    x = module.tensors[id].name == "x" ? id : x;
    y = module.tensors[id].name == "y" ? id : y;
  }
  CHECK(Print(module, Clone(module, e.id, {}, {{x, {y, {}}}})) == "%y[i] + %y[0]");
}

TEST_CASE("an event reference is cloned with its ranges, axes and guard") {
  SourceFile source("t.etir",
                    "etir 1;\ndim n in 1..64;\n"
                    "device @f(%x: out f32[n]) tasks (i: n) {\n  %x[i] = 0.0;\n}\n"
                    "graph @g(%x: out f32[n]) {\n  event %e[n, n, 4] count 1;\n"
                    "  call @f(%x) notify (i) => %e[i, i .. i + 2, *] for (s: i) if i > s;\n}\n");
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  REQUIRE(module != nullptr);
  for (NodeId id : module->nodes.Ids()) {
    if (const auto* call = std::get_if<CallNode>(&module->nodes[id])) {
      const Edge edge = call->notifies[0];
      EventRef copy = Clone(*module, edge.refs[0], {{edge.coords[0], MakeInt(*module, 5)}});
      CHECK(Print(*module, copy) == "%e[5, 5 .. 5 + 2, *] for (s: 5) if 5 > s");
    }
  }
}

TEST_CASE("the short constructors fold literals") {
  Expression e = ParseExpression("i");
  Module& module = *e.module;
  auto number = [&](int64_t value) { return MakeInt(module, value); };
  CHECK(Print(module, MakeAdd(module, number(2), number(3))) == "5");
  CHECK(MakeAdd(module, e.id, number(0)) == e.id);
  CHECK(MakeAdd(module, number(0), e.id) == e.id);
  CHECK(Print(module, MakeMul(module, number(2), number(3))) == "6");
  CHECK(MakeMul(module, e.id, number(1)) == e.id);
  CHECK(Print(module, MakeMul(module, e.id, number(0))) == "0");
  CHECK(Print(module, MakeAlign(module, number(5), 4)) == "8");
  CHECK(Print(module, MakeAlign(module, e.id, 4)) == "align(i, 4)");
  ExprId huge = MakeMul(module, number(int64_t{1} << 62), number(4));
  CHECK_FALSE(EvaluateInt(module, huge, {}));
}

TEST_CASE("mentions look everywhere") {
  for (const char* text : {"i", "%x[i]", "f32(i)", "-i", "1 + i", "min(1, i)", "sum(k: i) k",
                           "sum(k: i .. 4) k", "sum(k: 4) i"}) {
    INFO(text);
    Expression e = ParseExpression(text);
    CHECK(Mentions(*e.module, e.id, {e.Symbol("j"), e.Symbol("i")}));
    CHECK_FALSE(Mentions(*e.module, e.id, {e.Symbol("j")}));
  }
  Expression e = ParseExpression("1");
  CHECK_FALSE(Mentions(*e.module, ExprId{}, {e.Symbol("i")}));
}

}  // namespace
}  // namespace etc
