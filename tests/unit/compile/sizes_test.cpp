// Sizes that are given select what of a specialised graph is built.
#include "compile/sizes.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>

#include "ir/printer.h"
#include "text/parser.h"

namespace etc {
namespace {

constexpr const char* kHead = R"(etir 1;
dim n in 1..64;
dim m in 0..8;
device @copy(%x: f32[n, m], %y: out f32[n, m]) tasks (i: n) {
  for (j: m) %y[i, j] = %x[i, j];
}
graph @g(%x: f32[n, m], %y: out f32[n, m]) specialise ()";
constexpr const char* kTail = ") {\n  call @copy(%x, %y);\n}\n";

/// The line of the graph in the module that these sizes leave of these ranges.
std::string GraphWith(const std::string& ranges, const std::map<std::string, int64_t>& sizes,
                      const std::string& requirement = "") {
  Diagnostics diagnostics;
  SourceFile source("test.etir", kHead + ranges + kTail + requirement);
  std::unique_ptr<Module> module = Parse(source, diagnostics);
  REQUIRE(module != nullptr);
  KeepRangesOf(*module, sizes);
  std::string text = Print(*module);
  size_t begin = text.find(')', text.find("graph @")) + 2;
  return text.substr(begin, text.find(" {", begin) - begin);
}

TEST_CASE("the range of all sizes is kept, under the name that compilation gives it") {
  const std::string ranges = "n: 1..8, 9..64; m: 0..0, 1..8";
  CHECK(GraphWith(ranges, {{"n", 8}, {"m", 0}}) == "of @g where (n in 1..8, m in 0..0)");
  CHECK(GraphWith(ranges, {{"n", 9}, {"m", 8}}) == "of @g where (n in 9..64, m in 1..8)");
}

TEST_CASE("all ranges are kept where the sizes leave several, none, or are not given") {
  const std::string ranges = "n: 1..8, 9..64; m: 0..0, 1..8";
  const std::string all = "specialise (n: 1..8, 9..64; m: 0..0, 1..8)";
  CHECK(GraphWith(ranges, {{"n", 8}}) == all);
  CHECK(GraphWith(ranges, {{"n", 8}, {"m", 9}}) == all);
  CHECK(GraphWith(ranges, {}) == all);
}

TEST_CASE("a range is left out in which a requirement fails, also one over a named expression") {
  CHECK(GraphWith("n: 1..8, 9..64", {{"m", 3}}, "let half = n / 2;\nrequire n - half <= 4;\n") ==
        "of @g where (n in 1..8)");
}

TEST_CASE("ranges with an error are kept for the verifier") {
  CHECK(GraphWith("n: 1..8, 10..64", {{"n", 8}}) == "specialise (n: 1..8, 10..64)");
}

}  // namespace
}  // namespace etc
