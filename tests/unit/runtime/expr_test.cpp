#include <doctest/doctest.h>

#include <cstdint>

#include "runtime/manifest_expr.h"

namespace etc::runtime {
namespace {

using manifest::Expr;
using manifest::Op;

const std::vector<manifest::Dim> kDims = {{"n", 0, 100, 1}, {"m", 0, 100, 1}};

Expr Int(int64_t value) { return {Expr::Kind::Int, Op::Add, value, {}}; }
Expr Dim(int64_t index) { return {Expr::Kind::Dim, Op::Add, index, {}}; }
Expr Apply(Op op, std::vector<Expr> args) { return {Expr::Kind::Apply, op, 0, std::move(args)}; }

std::optional<int64_t> Value(const Expr& expr, int64_t n = 0, int64_t m = 0) {
  int64_t value = 0;
  return Evaluate(expr, {n, m}, &value).Ok() ? std::optional(value) : std::nullopt;
}
std::optional<int64_t> Value(Op op, int64_t a, int64_t b) {
  return Value(Apply(op, {Dim(0), Dim(1)}), a, b);
}

TEST_CASE("each operator has the value that the language gives it") {
  CHECK(Value(Op::Add, 7, 3) == 10);
  CHECK(Value(Op::Sub, 3, 7) == -4);
  CHECK(Value(Op::Mul, 7, 3) == 21);
  CHECK(Value(Op::Min, 7, 3) == 3);
  CHECK(Value(Op::Max, 7, 3) == 7);
  CHECK(Value(Op::Align, 13, 8) == 16);
  CHECK(Value(Op::Align, 16, 8) == 16);
  CHECK(Value(Op::Eq, 3, 3) == 1);
  CHECK(Value(Op::Ne, 3, 3) == 0);
  CHECK(Value(Op::Lt, 3, 3) == 0);
  CHECK(Value(Op::Le, 3, 3) == 1);
  CHECK(Value(Op::Gt, 4, 3) == 1);
  CHECK(Value(Op::Ge, 2, 3) == 0);
  CHECK(Value(Op::And, 2, 3) == 1);
  CHECK(Value(Op::And, 2, 0) == 0);
  CHECK(Value(Op::Or, 0, 3) == 1);
  CHECK(Value(Op::Or, 0, 0) == 0);
  CHECK(Value(Apply(Op::Select, {Dim(0), Int(5), Int(6)}), 1) == 5);
  CHECK(Value(Apply(Op::Select, {Dim(0), Int(5), Int(6)}), 0) == 6);
}

TEST_CASE("division rounds down, whatever the signs") {
  struct Case {
    int64_t a, b, floor, mod, ceil;
  };
  for (const Case& c : {Case{7, 2, 3, 1, 4}, Case{-7, 2, -4, 1, -3}, Case{7, -2, -4, -1, -3},
                        Case{-7, -2, 3, -1, 4}, Case{6, 3, 2, 0, 2}, Case{-6, 3, -2, 0, -2},
                        Case{INT64_MIN, 3, INT64_MIN / 3 - 1, 1, INT64_MIN / 3}}) {
    CAPTURE(c.a);
    CAPTURE(c.b);
    CHECK(Value(Op::Div, c.a, c.b) == c.floor);
    CHECK(Value(Op::Mod, c.a, c.b) == c.mod);
    CHECK(Value(Op::CeilDiv, c.a, c.b) == c.ceil);
  }
}

TEST_CASE("what has no value is a failure") {
  for (const Op op : {Op::Div, Op::Mod, Op::CeilDiv, Op::Align}) {
    CHECK_FALSE(Value(op, 1, 0));
  }
  for (const Op op : {Op::Div, Op::Mod, Op::CeilDiv}) {
    CHECK_FALSE(Value(op, INT64_MIN, -1));
  }
  CHECK_FALSE(Value(Op::Add, INT64_MAX, 1));
  CHECK_FALSE(Value(Op::Sub, INT64_MIN, 1));
  CHECK_FALSE(Value(Op::Mul, INT64_MAX, 2));
  CHECK_FALSE(Value(Op::Align, INT64_MAX, 1000));
}

TEST_CASE("arguments that are not needed are not evaluated") {
  const Expr by_zero = Apply(Op::Div, {Int(8), Dim(0)});
  CHECK(Value(Apply(Op::Select, {Dim(0), by_zero, Int(1)}), 0) == 1);
  CHECK(Value(Apply(Op::And, {Dim(0), by_zero}), 0) == 0);
  CHECK(Value(Apply(Op::Or, {Int(1), by_zero}), 0) == 1);
  CHECK_FALSE(Value(Apply(Op::Or, {Int(0), by_zero}), 0));
}

TEST_CASE("the text has the parentheses that it needs") {
  const Expr sum = Apply(Op::Add, {Dim(0), Int(1)});
  CHECK(ToText(Apply(Op::Mul, {sum, Int(32)}), kDims) == "(n + 1)*32");
  CHECK(ToText(Apply(Op::Add, {Apply(Op::Mul, {Dim(0), Int(32)}), Dim(1)}), kDims) == "n*32 + m");
  CHECK(ToText(Apply(Op::Sub, {Dim(1), sum}), kDims) == "m - (n + 1)");
  CHECK(ToText(Apply(Op::CeilDiv, {sum, Int(8)}), kDims) == "ceildiv(n + 1, 8)");
}

TEST_CASE("an expression is known when its dims are") {
  const Expr sum = Apply(Op::Add, {Dim(0), Int(1)});
  CHECK(IsKnown(sum, {1, std::nullopt}));
  CHECK_FALSE(IsKnown(sum, {std::nullopt, 1}));
  CHECK(IsKnown(Int(3), {std::nullopt, std::nullopt}));
}

}  // namespace
}  // namespace etc::runtime
