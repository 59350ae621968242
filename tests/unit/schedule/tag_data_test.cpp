#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "ir/printer.h"
#include "schedule/lower.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc {
namespace {

/// A chain over layers.
std::string Chain(const std::string& rows, const std::string& columns, const std::string& tags) {
  return "etir 1;\nconst layers = 3;\ndim n in 1.." + rows + ";\n" + "device @start(%x: f32[n, " +
         columns + "], %y: out f32[n, " + columns +
         "]) tasks (i: n) {\n  impl sm_90a \"a.cuh\" A tags (%y);\n  for (c: " + columns +
         ") %y[i, c] = %x[i, c];\n}\n" + "device @copy(%x: f32[n, " + columns +
         "], %y: out f32[n, " + columns + "]) tasks (i: n) {\n  impl sm_90a \"a.cuh\" A tags " +
         tags + ";\n  for (c: " + columns + ") %y[i, c] = %x[i, c];\n}\n" +
         "device @end(%x: f32[n, " + columns + "], %y: out f32[n, " + columns +
         "]) tasks (i: n) {\n  impl sm_90a \"a.cuh\" A tags (%x);\n  for (c: " + columns +
         ") %y[i, c] = %x[i, c];\n}\n" + "graph @chain(%in: f32[n, " + columns +
         "], %out: out f32[n, " + columns + "]) {\n  %s = buffer f32[n, " + columns +
         "];\n  %a = buffer f32[n, " + columns + "];\n" + R"(  event %s_done[l: layers + 1] count n;
  event %a_done[layers] count n;
  call @start(%in, %s) notify (i) => %s_done[0];
  repeat l in 0..layers {
    call @copy(%s, %a) wait (i) => %s_done[l] notify (i) => %a_done[l];
    call @copy(%a, %s) wait (i) => %a_done[l] notify (i) => %s_done[l + 1];
  }
  call @end(%s, %out) wait (i) => %s_done[layers];
}
)";
}

std::string Tagged(const std::string& text) {
  SourceFile source("test.etir", text);
  Diagnostics diagnostics;
  std::unique_ptr<Module> module = Parse(source, diagnostics);
  INFO(RenderText(diagnostics, &source));
  REQUIRE(module);
  REQUIRE(Verify(*module, diagnostics));
  ScheduleOptions options;
  options.tag_data = true;
  for (const Pass& pass : StaticPipeline(options)) {
    REQUIRE(pass.run(*module, options, diagnostics));
    INFO(RenderText(diagnostics, nullptr));
    REQUIRE(Verify(*module, diagnostics));
  }
  return Print(*module);
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("each iteration has its own version, and no event is left") {
  std::string text = Tagged(Chain("8", "64", "(%x, %y)"));
  CHECK(Has(text, "%s = workspace tagged f32[layers + 1, n, 64] at 0;"));
  CHECK(Has(text, "%a = workspace tagged f32[layers, n, 64]"));
  CHECK(Has(text, "(%in, %s[0]);"));
  CHECK(Has(text, "(%s[l], %a[l]);"));
  CHECK(Has(text, "(%a[l], %s[l + 1]);"));
  CHECK(Has(text, "(%s[layers], %out);"));
  CHECK_FALSE(Has(text, "event"));
  CHECK_FALSE(Has(text, "wait"));
}

TEST_CASE("one operand that takes no tags leaves its buffer to an event") {
  // Without %s every event stays: a copy of the next iteration overwrites what one of this reads.
  std::string text = Tagged(Chain("8", "64", "(%y)"));
  CHECK_FALSE(Has(text, "tagged"));
  CHECK(Has(text, "wait %s_done[l];"));
  CHECK(Has(text, "wait %a_done[l];"));
}

TEST_CASE("many rows and long rows are not tagged") {
  CHECK_FALSE(Has(Tagged(Chain("9", "64", "(%x, %y)")), "tagged"));
  CHECK(Has(Tagged(Chain("8", "4096", "(%x, %y)")), "tagged"));
  CHECK_FALSE(Has(Tagged(Chain("8", "4100", "(%x, %y)")), "tagged"));
}

TEST_CASE("the pipeline has tag-data only where it is asked for") {
  auto count = [](const std::vector<Pass>& passes) {
    return std::count_if(passes.begin(), passes.end(),
                         [](const Pass& pass) { return pass.name == "tag-data"; });
  };
  ScheduleOptions options;
  CHECK(count(StaticPipeline(options)) == 0);
  options.tag_data = true;
  CHECK(count(StaticPipeline(options)) == 1);
  CHECK(count(AllPasses()) == 1);
}

}  // namespace
}  // namespace etc
