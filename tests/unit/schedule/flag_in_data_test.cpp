#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "ir/printer.h"
#include "schedule/lower.h"
#include "schedule/sources.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc {
namespace {

/// A chain over layers.
std::string Chain(const std::string& rows, const std::string& columns, const std::string& flagged) {
  return "etir 1;\nconst layers = 3;\ndim n in 1.." + rows + ";\n" + "device @start(%x: f32[n, " +
         columns + "], %y: out f32[n, " + columns +
         "]) tasks (i: n) {\n  impl sm_90a \"a.cuh\" A flagged (%y);\n  for (c: " + columns +
         ") %y[i, c] = %x[i, c];\n}\n" + "device @copy(%x: f32[n, " + columns +
         "], %y: out f32[n, " + columns + "]) tasks (i: n) {\n  impl sm_90a \"a.cuh\" A flagged " +
         flagged + ";\n  for (c: " + columns + ") %y[i, c] = %x[i, c];\n}\n" +
         "device @end(%x: f32[n, " + columns + "], %y: out f32[n, " + columns +
         "]) tasks (i: n) {\n  impl sm_90a \"a.cuh\" A flagged (%x);\n  for (c: " + columns +
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

std::string Flagged(const std::string& text, ScheduleKind schedule = ScheduleKind::Static) {
  auto module = ParseVerified(text);
  Diagnostics diagnostics;
  ScheduleOptions options;
  options.schedule = schedule;
  options.flag_in_data = true;
  for (const Pass& pass : StaticPipeline(options)) {
    REQUIRE(pass.run(*module, options, diagnostics));
    INFO(RenderText(diagnostics, nullptr));
    REQUIRE(Verify(*module, diagnostics));
  }
  return Print(*module);
}

TEST_CASE("each iteration has its own version, and no event is left") {
  std::string text = Flagged(Chain("8", "64", "(%x, %y)"));
  CHECK(Has(text, "%s = workspace flagged f32[layers + 1, n, 64] at 256;"));
  CHECK(Has(text, "%a = workspace flagged f32[layers, n, 64]"));
  CHECK(Has(text, "(%in, %s[0]);"));
  CHECK(Has(text, "(%s[l], %a[l]);"));
  CHECK(Has(text, "(%a[l], %s[l + 1]);"));
  CHECK(Has(text, "(%s[layers], %out);"));
  CHECK_FALSE(Has(text, "event"));
  CHECK_FALSE(Has(text, "wait"));
}

TEST_CASE("one operand that takes nothing flagged leaves its buffer to an event") {
  // Without %s every event stays: a copy of the next iteration overwrites what one of this reads.
  std::string text = Flagged(Chain("8", "64", "(%y)"));
  CHECK_FALSE(Has(text, "workspace flagged"));
  CHECK(Has(text, "wait %s_done[l];"));
  CHECK(Has(text, "wait %a_done[l];"));
}

TEST_CASE("many rows are not flagged, and not what a task reads much of") {
  CHECK(Has(Flagged(Chain("64", "64", "(%x, %y)")), "workspace flagged"));
  CHECK_FALSE(Has(Flagged(Chain("65", "64", "(%x, %y)")), "workspace flagged"));
  CHECK(Has(Flagged(Chain("8", "262144", "(%x, %y)")), "workspace flagged"));
  CHECK_FALSE(Has(Flagged(Chain("8", "262148", "(%x, %y)")), "workspace flagged"));
}

TEST_CASE("fewer rows are flagged of what a dispatch uses, and of several ranks") {
  auto drained = [](const std::string& rows) {
    return Flagged(Chain(rows, "64", "(%x, %y)"), ScheduleKind::Drain);
  };
  CHECK(Has(drained("16"), "workspace flagged"));
  CHECK_FALSE(Has(drained("17"), "workspace flagged"));
  auto ranked = [](const std::string& rows) {
    std::string text = Chain(rows, "64", "(%x, %y)");
    return Flagged(text.insert(text.find("const"), "mesh tp = 2;\n"));
  };
  CHECK(Has(ranked("24"), "workspace flagged"));
  CHECK_FALSE(Has(ranked("25"), "workspace flagged"));
}

/// Three stages in each layer, of which the last but one takes nothing flagged. It writes %m, and
/// the next reads it, for both of which `m` says how much.
std::string Mixed(const std::string& m, const std::string& layers) {
  std::string text = "etir 1;\nconst layers = " + layers + R"(;
dim n in 1..8;
device @start(%x: f32[n, 64], %y: out f32[n, 64]) tasks (i: n) {
  impl sm_90a "a.cuh" A flagged (%y);
  for (c: 64) %y[i, c] = %x[i, c];
}
device @copy(%x: f32[n, 64], %y: out f32[n, 64]) tasks (i: n) {
  impl sm_90a "a.cuh" A flagged (%x, %y);
  for (c: 64) %y[i, c] = %x[i, c];
}
device @widen(%x: f32[n, 64], %y: out f32[n, M]) tasks (i: n) {
  impl sm_90a "a.cuh" A flagged (%x);
  for (c: M) %y[i, c] = %x[i, c % 64];
}
device @narrow(%x: f32[n, M], %y: out f32[n, 64]) tasks (i: n) {
  impl sm_90a "a.cuh" A flagged (%y);
  for (c: 64) %y[i, c] = %x[i, c];
}
device @end(%x: f32[n, 64], %y: out f32[n, 64]) tasks (i: n) {
  impl sm_90a "a.cuh" A flagged (%x);
  for (c: 64) %y[i, c] = %x[i, c];
}
graph @chain(%in: f32[n, 64], %out: out f32[n, 64]) {
  %s = buffer f32[n, 64];
  %a = buffer f32[n, 64];
  %m = buffer f32[n, M];
  event %s_done[l: layers + 1] count n;
  event %a_done[layers] count n;
  event %m_done[layers] count n;
  call @start(%in, %s) notify (i) => %s_done[0];
  repeat l in 0..layers {
    call @copy(%s, %a) wait (i) => %s_done[l] notify (i) => %a_done[l];
    call @widen(%a, %m) wait (i) => %a_done[l] notify (i) => %m_done[l];
    call @narrow(%m, %s) wait (i) => %m_done[l] notify (i) => %s_done[l + 1];
  }
  call @end(%s, %out) wait (i) => %s_done[layers];
}
)";
  for (size_t at = text.find("M]"); at != std::string::npos; at = text.find("M]")) {
    text.replace(at, 1, m);
  }
  for (size_t at = text.find("M)"); at != std::string::npos; at = text.find("M)")) {
    text.replace(at, 1, m);
  }
  return text;
}

TEST_CASE("a version for each iteration of what is not flagged lets the other events go") {
  std::string text = Flagged(Mixed("128", "3"));
  CHECK(Has(text, "%s = workspace flagged f32[layers + 1, n, 64]"));
  CHECK(Has(text, "%a = workspace flagged f32[layers, n, 64]"));
  CHECK(Has(text, "%m = workspace f32[layers, n, 128] at 0;"));
  CHECK(Has(text, "(%a[l], %m[l]);"));
  CHECK(Has(text, "(%m[l], %s[l + 1]);"));
  CHECK(Has(text, "event %m_done[layers] count n via counter at 0;"));
  CHECK_FALSE(Has(text, "event %s_done"));
  CHECK_FALSE(Has(text, "event %a_done"));
}

TEST_CASE("versions that would take too much memory are not made") {
  // 8 rows of 128 elements of 4 bytes, 16384 times, are 64 MiB.
  CHECK(Has(Flagged(Mixed("128", "16384")), "%m = workspace f32[layers, n, 128]"));
  std::string text = Flagged(Mixed("128", "16385"));
  CHECK(Has(text, "%m = workspace f32[n, 128]"));
  CHECK_FALSE(Has(text, "workspace flagged"));
}

TEST_CASE("slices that do not start where an operand may are not made") {
  CHECK_FALSE(Has(Flagged(Mixed("130", "3")), "%m = workspace f32[layers"));
}

TEST_CASE("the pipeline has flag-in-data only where it is asked for") {
  auto count = [](const std::vector<Pass>& passes) {
    return std::count_if(passes.begin(), passes.end(),
                         [](const Pass& pass) { return pass.name == "flag-in-data"; });
  };
  ScheduleOptions options;
  CHECK(count(StaticPipeline(options)) == 0);
  options.flag_in_data = true;
  CHECK(count(StaticPipeline(options)) == 1);
  CHECK(count(AllPasses()) == 1);
}

}  // namespace
}  // namespace etc
