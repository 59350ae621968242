#include <random>

#include "expression.h"
#include "ir/evaluate.h"

namespace etc {
namespace {

std::optional<Interval> BoundsOf(const std::string& text, Interval i = {0, 9}) {
  Expression e = ParseExpression(text);
  return Bounds(*e.module, e.id, {{e.Symbol("i"), i}});
}

void CheckBounds(const std::string& text, int64_t lo, int64_t hi) {
  INFO(text);
  auto bounds = BoundsOf(text);
  REQUIRE(bounds);
  CHECK(bounds->lo == lo);
  CHECK(bounds->hi == hi);
}

TEST_CASE("intervals are tight where each variable occurs once") {
  CheckBounds("i * 32 + 31", 31, 319);
  CheckBounds("9 - i", 0, 9);
  CheckBounds("-i * 2", -18, 0);
  CheckBounds("n", 1, 64);
  CheckBounds("m / 16", 1, 16);
  CheckBounds("i % 4", 0, 3);
  CheckBounds("(i + 40) % 50", 40, 49);
  CheckBounds("ceildiv(i, 4)", 0, 3);
  CheckBounds("align(i, 4)", 0, 12);
  CheckBounds("min(i, 5)", 0, 5);
  CheckBounds("max(i, 5)", 5, 9);
  CheckBounds("abs(i - 3)", 0, 6);
  CheckBounds("select(i < 100, i, 1000)", 0, 9);
  CheckBounds("select(i < 5, i, 1000)", 0, 1000);
  CheckBounds("%ids[i]", 0, 63);
  CheckBounds("%small[i]", 0, 255);
  CheckBounds("u8(i)", 0, 9);
  CheckBounds("argmax(k: 8) %x[k]", 0, 7);
  CheckBounds("upper(n) - lower(n)", 63, 63);
}

TEST_CASE("what is not known has no bounds") {
  CHECK_FALSE(BoundsOf("j"));
  CHECK_FALSE(BoundsOf("1 / (i - 3)"));
  CHECK_FALSE(BoundsOf("i % (i - 3)"));
  CHECK_FALSE(BoundsOf("i * 9223372036854775807"));
  CHECK_FALSE(BoundsOf("sum(k: 4) k"));
  CHECK_FALSE(BoundsOf("half"));
}

/// A random integer expression over i and j.
std::string RandomExpression(std::mt19937& random, int depth) {
  auto pick = [&](int n) { return static_cast<int>(random() % n); };
  if (depth == 0 || pick(6) == 0) {
    const char* const kLeaves[] = {"i", "j", "(-3)", "0", "2", "7"};
    return kLeaves[pick(6)];
  }
  std::string a = RandomExpression(random, depth - 1);
  std::string b = RandomExpression(random, depth - 1);
  switch (pick(11)) {
    case 0:
      return "(" + a + " + " + b + ")";
    case 1:
      return "(" + a + " - " + b + ")";
    case 2:
      return "(" + a + " * " + b + ")";
    case 3:
      return "(" + a + " / " + b + ")";
    case 4:
      return "(" + a + " % " + b + ")";
    case 5:
      return "min(" + a + ", " + b + ")";
    case 6:
      return "max(" + a + ", " + b + ")";
    case 7:
      return "ceildiv(" + a + ", " + b + ")";
    case 8:
      return "align(" + a + ", " + b + ")";
    case 9:
      return "abs(" + a + ")";
    default:
      return "select(" + a + " < " + b + ", " + b + ", " + a + ")";
  }
}

TEST_CASE("every value of a random expression is inside its bounds") {
  std::mt19937 random(7);
  int bounded = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = RandomExpression(random, 3);
    Expression e = ParseExpression(text);
    Interval i{static_cast<int64_t>(random() % 9) - 4, 5};
    Interval j{-2, static_cast<int64_t>(random() % 6) - 2};
    auto bounds = Bounds(*e.module, e.id, {{e.Symbol("i"), i}, {e.Symbol("j"), j}});
    if (!bounds) {
      continue;
    }
    ++bounded;
    for (int64_t x = i.lo; x <= i.hi; ++x) {
      for (int64_t y = j.lo; y <= j.hi; ++y) {
        auto value = EvaluateInt(*e.module, e.id, {{e.Symbol("i"), x}, {e.Symbol("j"), y}});
        if (value && (*value < bounds->lo || *value > bounds->hi)) {
          FAIL(text, " is ", *value, " for i = ", x, ", j = ", y, ", outside of ", bounds->lo,
               " .. ", bounds->hi);
        }
      }
    }
  }
  CHECK(bounded > 500);
}

}  // namespace
}  // namespace etc
