#include "ir/evaluate.h"

#include <cmath>
#include <limits>

#include "expression.h"
#include "ir/checked.h"

namespace etc {
namespace {

std::optional<int64_t> Int(const std::string& text, int64_t i = 0) {
  Expression e = ParseExpression(text);
  return EvaluateInt(*e.module, e.id, {{e.Symbol("i"), i}, {e.Symbol("n"), 10}});
}

std::optional<double> Float(const std::string& text) {
  Expression e = ParseExpression(text);
  return EvaluateFloat(*e.module, e.id, {{e.Symbol("i"), 3}});
}

std::optional<bool> Bool(const std::string& text) {
  Expression e = ParseExpression(text);
  return EvaluateBool(*e.module, e.id, {{e.Symbol("i"), 3}});
}

ValueKind Kind(const std::string& text) {
  Expression e = ParseExpression(text);
  return KindOf(*e.module, e.id);
}

/// A program whose last constant uses the one before it twice, and so on.
std::unique_ptr<Module> Chain(int length, const std::string& first) {
  std::string text = "etir 1;\nconst c0 = " + first + ";\n";
  for (int i = 1; i < length; ++i) {
    std::string before = "c" + std::to_string(i - 1);
    text += "const c" + std::to_string(i) + " = " + before + " * " + before + ";\n";
  }
  SourceFile source("t.etir", text);
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  REQUIRE(module != nullptr);
  return module;
}

ExprId LastValue(const Module& module) {
  return module.symbols[std::get<SymbolId>(module.items.back())].value;
}

TEST_CASE("division and remainder round towards minus infinity") {
  for (int64_t a = -13; a <= 13; ++a) {
    for (int64_t b = -5; b <= 5; ++b) {
      if (b == 0) {
        CHECK_FALSE(CheckedFloorDiv(a, b));
        CHECK_FALSE(CheckedFloorMod(a, b));
        CHECK_FALSE(CheckedCeilDiv(a, b));
        CHECK_FALSE(CheckedAlign(a, b));
        continue;
      }
      double quotient = static_cast<double>(a) / static_cast<double>(b);
      CHECK(CheckedFloorDiv(a, b) == static_cast<int64_t>(std::floor(quotient)));
      CHECK(CheckedCeilDiv(a, b) == static_cast<int64_t>(std::ceil(quotient)));
      CHECK(*CheckedFloorDiv(a, b) * b + *CheckedFloorMod(a, b) == a);
      CHECK(*CheckedAlign(a, b) % b == 0);
    }
  }
  CHECK(Int("-7 / 2") == -4);
  CHECK(Int("-7 % 2") == 1);
  CHECK(Int("7 % -2") == -1);
}

TEST_CASE("what does not fit in 64 bits has no value") {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  CHECK_FALSE(CheckedAdd(kMax, 1));
  CHECK_FALSE(CheckedSub(kMin, 1));
  CHECK_FALSE(CheckedMul(kMin, -1));
  CHECK_FALSE(CheckedFloorDiv(kMin, -1));
  CHECK(CheckedFloorMod(kMin, -1) == 0);
  CHECK_FALSE(Int("9223372036854775807 + i", 1));
  CHECK(Int("9223372036854775807 + i", 0) == kMax);
  CHECK_FALSE(Int("i32(3000000000)"));
  CHECK_FALSE(Int("u8(256)"));
}

TEST_CASE("integers") {
  CHECK(Int("1 + 2 * i", 5) == 11);
  CHECK(Int("ceildiv(n, 4)") == 3);
  CHECK(Int("align(n, 16)") == 16);
  CHECK(Int("min(i, 4) + max(i, 4) + abs(i - 9)", 7) == 13);
  CHECK(Int("twelve / six") == 2);
  CHECK(Int("i32(2.9) + i32(-2.9) + i64(yes)") == 1);
  CHECK_FALSE(Int("j"));
  CHECK_FALSE(Int("%ids[0]"));
  CHECK_FALSE(Int("1 / i"));
  CHECK_FALSE(Int("sum(k: 3) k"));
}

TEST_CASE("select and the logical operators evaluate no more than they need") {
  CHECK(Int("select(i == 0, 5, 1 / i)") == 5);
  CHECK(Int("select(i == 0, 1 / i, 5)", 1) == 5);
  CHECK(Bool("i == 3 || 1 / (i - 3) == 0") == true);
  CHECK(Bool("i != 3 && 1 / (i - 3) == 0") == false);
  CHECK_FALSE(Bool("i == 3 && 1 / (i - 3) == 0"));
}

TEST_CASE("lower and upper follow the range that is given, else the declared one") {
  Expression e = ParseExpression("upper(n) * 1000 + lower(n)");
  CHECK(EvaluateInt(*e.module, e.id, {}) == 64001);
  CHECK(EvaluateInt(*e.module, e.id, {}, {{e.Symbol("n"), {9, 16}}}) == 16009);
  CHECK(RangeOfDim(*e.module, e.Symbol("m"))->hi == 256);
  CHECK_FALSE(RangeOfDim(*e.module, e.Symbol("six")));
}

TEST_CASE("floats and booleans") {
  CHECK(Float("half * 3") == 1.5);
  CHECK(Float("i / 2") == 1.0);
  CHECK(Float("i / 2.0") == 1.5);
  CHECK(Float("sqrt(16) + exp(0.0) - pow(2.0, 3.0)") == -3.0);
  CHECK(Float("f32(0.1)") == static_cast<double>(0.1f));
  CHECK_FALSE(Float("1.0 / 0.0"));
  CHECK_FALSE(Float("%x[0]"));
  CHECK(Bool("i > 2 && !(half >= 1) && yes") == true);
  CHECK(Bool("yes == (i < 3)") == false);
  CHECK(Bool("bool(i)") == true);
  CHECK_FALSE(Bool("i"));
  CHECK_FALSE(Int("yes"));
}

TEST_CASE("kinds") {
  CHECK(Kind("1 + i") == ValueKind::Int);
  CHECK(Kind("1 + half") == ValueKind::Float);
  CHECK(Kind("i < 2") == ValueKind::Bool);
  CHECK(Kind("%x[0]") == ValueKind::Float);
  CHECK(Kind("%ids[0] + %small[0]") == ValueKind::Int);
  CHECK(Kind("select(yes, 1, 2.0)") == ValueKind::Float);
  CHECK(Kind("argmax(k: 4) %x[k]") == ValueKind::Int);
  CHECK(Kind("sum(k: 4) %x[k]") == ValueKind::Float);
  CHECK(Kind("bf16(i)") == ValueKind::Float);
  CHECK(Kind("f64(i)") == ValueKind::Double);
  CHECK(Kind("f64(i) + 0.5") == ValueKind::Double);
  CHECK(Kind("exp(f64(1))") == ValueKind::Double);
  CHECK(Kind("f64(i) < 2") == ValueKind::Bool);
  CHECK(Kind("i << 2 | 1") == ValueKind::Int);
  CHECK(Kind("~i & 3") == ValueKind::Int);
  CHECK(Kind("any(k: 4) (k > 2)") == ValueKind::Bool);
  CHECK(Kind("argmin(k: 4) %x[k]") == ValueKind::Int);
  CHECK(Kind("prod(k: 4) %x[k]") == ValueKind::Float);
  CHECK(Kind("inf") == ValueKind::Float);
  CHECK(Kind("1 + yes") == ValueKind::Error);
  CHECK(Kind("exp(1)") == ValueKind::Float);
}

TEST_CASE(
    "a chain of constants, each using the one before it twice, costs no more than its length") {
  auto integers = Chain(200, "1");
  CHECK(EvaluateInt(*integers, LastValue(*integers), {}) == 1);
  CHECK(KindOf(*integers, LastValue(*integers)) == ValueKind::Int);
  auto floats = Chain(200, "1.0");
  CHECK(EvaluateFloat(*floats, LastValue(*floats), {}) == 1.0);
  // Beyond the depth that evaluation allows there is no value, and no overflow of the stack.
  auto deep = Chain(20000, "1");
  CHECK_FALSE(EvaluateInt(*deep, LastValue(*deep), {}));
}

}  // namespace
}  // namespace etc
