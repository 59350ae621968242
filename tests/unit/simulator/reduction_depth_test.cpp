#include "simulator/reduction_depth.h"

#include <doctest/doctest.h>

#include <string>

#include "text/parser.h"

namespace etc {
namespace {

int64_t DepthOf(const std::string& body) {
  SourceFile source("test.etir",
                    "etir 1;\ndevice @f(%x: f32[8, 64], %w: f32[64, 64], %y: out f32[8, 64], "
                    "%i: out i32[8, 2]) tasks (b: 8) {\n" +
                        body + "\n}\n");
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  INFO(RenderText(diagnostics, &source));
  REQUIRE(module);
  return ReductionDepth(*module, module->devices[DeviceId{0}]);
}

TEST_CASE("reductions count one after the other, not beside each other") {
  CHECK(DepthOf("for (c: 64) %y[b, c] = %x[b, c];") == 0);
  CHECK(DepthOf("for (c: 64) %y[b, c] = sum(k: 64) %w[c, k] * %x[b, k];") == 1);
  CHECK(DepthOf("for (c: 64) %y[b, c] = (sum(k: 64) %w[c, k]) * (sum(k: 64) %x[b, k]);") == 1);
  CHECK(DepthOf("let s = sum(k: 64) %x[b, k];\n"
                "for (c: 64) %y[b, c] = sum(k: 64) %w[c, k] * s;") == 2);
}

TEST_CASE("a softmax of products takes four, by way of local arrays") {
  CHECK(DepthOf(R"(local %s: f32[64];
for (c: 64) %s[c] = sum(k: 64) %w[c, k] * %x[b, k];
let most = max(c: 64) %s[c];
let all = sum(c: 64) exp(%s[c] - most);
for (c: 64) %y[b, c] = sum(k: 64) %w[k, c] * exp(%s[k] - most) / all;)") == 4);
}

TEST_CASE("the largest elements are a reduction") {
  CHECK(DepthOf("local %v: f32[2];\n"
                "(%v[r], %i[b, r]) = topk(r: 2; c: 64) %x[b, c];\n"
                "let all = sum(r: 2) %v[r];\n"
                "for (c: 64) %y[b, c] = all;") == 2);
}

}  // namespace
}  // namespace etc
