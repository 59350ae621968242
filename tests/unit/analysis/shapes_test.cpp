#include "analysis/shapes.h"

#include <doctest/doctest.h>

#include "text/parser.h"

namespace etc {
namespace {

bool Same(const std::string& a, const std::string& b) {
  SourceFile source("t.etir",
                    "etir 1;\nconst tile = 16;\ndim n in 1..64;\n"
                    "dim m in 16..256 multiple tile;\n"
                    "device @f(%a: f32[" +
                        a + "], %b: out f32[" + b + "]) tasks (i: n) {\n  %b[0] = 0.0;\n}\n");
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  REQUIRE(module != nullptr);
  ExprId first = module->tensors[TensorId{0}].shape[0];
  ExprId second = module->tensors[TensorId{1}].shape[0];
  bool same = SameSize(*module, first, second);
  CHECK(SameSize(*module, second, first) == same);
  return same;
}

TEST_CASE("sizes are equal when their polynomials are") {
  CHECK(Same("n * 2", "n + n"));
  CHECK(Same("(n + 1) * (n - 1)", "n * n - 1"));
  CHECK(Same("n * m", "m * n"));
  CHECK(Same("tile * n", "n * 16"));
  CHECK(Same("n * 32 / 32", "n"));
  CHECK(Same("-(1 - n) + 1", "n"));
  CHECK(Same("ceildiv(n + n, 4)", "ceildiv(2 * n, 4)"));
  CHECK(Same("align(n, tile)", "ceildiv(n, 16) * 16"));
  CHECK(Same("max(n, 2 + 2)", "max(n, 4)"));
  CHECK(Same("upper(n)", "64"));
  CHECK(Same("n - n + 1", "1"));
}

TEST_CASE("a multiple makes a division exact") {
  CHECK(Same("m / 16 * 16", "m"));
  CHECK(Same("m / 8", "m / 16 * 2"));
  CHECK(Same("align(m, 16)", "m"));
  CHECK_FALSE(Same("n / 16 * 16", "n"));
  CHECK_FALSE(Same("m / 32 * 32", "m"));
}

bool Divides(int64_t divisor, const std::string& size) {
  SourceFile source(
      "t.etir", "etir 1;\ndim n in 1..64;\ndim m in 16..256 multiple 16;\ndevice @f(%a: out f32[" +
                    size + "]) tasks (i: 1) {\n  %a[0] = 0.0;\n}\n");
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  REQUIRE(module != nullptr);
  return IsMultiple(*module, module->tensors[TensorId{0}].shape[0], divisor);
}

TEST_CASE("a size is a multiple when each of its terms is") {
  CHECK(Divides(8, "24"));
  CHECK(Divides(8, "m"));
  CHECK(Divides(8, "n * 8 + m"));
  CHECK(Divides(32, "m * 2 * n"));
  CHECK(Divides(4, "align(n, 4)"));
  CHECK_FALSE(Divides(8, "20"));
  CHECK_FALSE(Divides(2, "n"));
  CHECK_FALSE(Divides(32, "m"));
  CHECK_FALSE(Divides(8, "m + 4"));
}

TEST_CASE("sizes differ otherwise") {
  CHECK_FALSE(Same("n", "m"));
  CHECK_FALSE(Same("n", "n + 1"));
  CHECK_FALSE(Same("n / 2", "ceildiv(n, 2)"));
  CHECK_FALSE(Same("n", "64"));
  CHECK_FALSE(Same("max(n, 4)", "min(n, 4)"));
}

}  // namespace
}  // namespace etc
