#include <doctest/doctest.h>

#include <memory>

#include "analysis/proofs/proofs.h"
#include "ir/printer.h"
#include "schedule/lower.h"
#include "schedule/sources.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc {
namespace {

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

const std::string kRows = R"(etir 1;
dim n in 1..64;
device @rows(%x: f32[n, 4], %y: out f32[n, 4]) tasks (i: n) {
  for (k: 4) %y[i, k] = 0.5 * %x[i, k];
}
device @shift(%x: f32[n, 4], %y: out f32[n, 4]) tasks (i: n) {
  for (k: 4) %y[i, k] = select(i > 0, %x[i - min(i, 1), k], 1.0);
}
device @mean(%x: f32[n, 4], %y: out f32[n, 4]) tasks (i: n, k: 4) {
  %y[i, k] = %x[i, k] - (sum(j: n) %x[j, k]) / n;
}
device @blend(%x: f32[n, 4], %y: out f32[n, 4]) tasks (i: n, k: 4) {
  %y[i, k] = %x[i, k] - sum(j: n, m: 4) %x[j, m];
}
)";

TEST_CASE("a reader of one row waits for the row, a reader of all for all") {
  std::string text =
      Derive(kRows + R"(graph @g(%x: f32[n, 4], %y: out f32[n, 4], %z: out f32[n, 4]) {
    %a = buffer f32[n, 4];
    call @rows(%x, %a);
    call @rows(%a, %y);
    call @mean(%a, %z);
  })");
  CHECK(Has(text, "event %a_ready[n] count 1;"));
  CHECK(Has(text, "call @rows(%a, %y) wait (i) => %a_ready[i];"));
  CHECK(Has(text, "event %a_ready_2 count n;"));
  CHECK(Has(text, "call @mean(%a, %z) wait (i, k) => %a_ready_2;"));
}

TEST_CASE("a buffer that is written again waits for its readers") {
  std::string text =
      Derive(kRows + R"(graph @g(%x: f32[n, 4], %y: out f32[n, 4], %z: out f32[n, 4]) {
    %a = buffer f32[n, 4];
    call @rows(%x, %a);
    call @mean(%a, %y);
    call @rows(%x, %a);
    call @mean(%a, %z);
  })");
  CHECK(Has(text, "event %a_free count n * 4;"));
  CHECK(Count(text, "event %") == 3);
}

TEST_CASE("inside a repeat, a chain of waits keeps reused buffers in order by itself") {
  std::string text = Derive(kRows + R"(graph @g(%x: f32[n, 4], %y: out f32[n, 4]) {
    %a = buffer f32[n, 4];
    %b = buffer f32[n, 4];
    call @rows(%x, %a);
    repeat l in 0..6 {
      call @blend(%a, %b);
      call @blend(%b, %a);
    }
    call @rows(%a, %y);
  })");
  // One event from each call to the next, and the first layer takes its input as from a layer
  // before.
  CHECK(Count(text, "event %") == 2);
  CHECK(Has(text, "event %a_ready[l: 7] count select(l == 0, n, n * 4);"));
  CHECK(Has(text, "call @rows(%x, %a) notify (i) => %a_ready[0];"));
  CHECK(Has(text, "wait (i, k) => %a_ready[l]"));
  CHECK(Has(text, "notify (i, k) => %a_ready[l + 1];"));
  CHECK(Has(text, "call @rows(%a, %y) wait (i) => %a_ready[6];"));
  CHECK(!Has(text, " if "));
}

TEST_CASE("what a repeat reads row by row or shifted is in order in every iteration") {
  std::string text = Derive(kRows + R"(graph @g(%x: f32[n, 4], %y: out f32[n, 4]) {
    %a = buffer f32[n, 4];
    %b = buffer f32[n, 4];
    call @rows(%x, %a);
    repeat l in 3..9 {
      call @shift(%a, %b);
      call @rows(%b, %a);
    }
    call @mean(%a, %y);
  })");
  CHECK(Has(text, "if l >= 4"));
}

TEST_CASE("slices of a stack of layers do not wait for each other") {
  std::string text =
      Derive(kRows + R"(graph @g(%x: f32[n, 4], %y: out f32[6, n, 4], %z: out f32[6, n, 4]) {
    repeat l in 0..6 {
      call @rows(%x, %y[l]);
    }
    repeat m in 0..6 {
      call @rows(%y[m], %z[m]);
    }
  })");
  CHECK(Count(text, "event %") == 1);
  CHECK(Has(text, "event %y_ready[6, n] count 1;"));
}

TEST_CASE("a graph with an event is taken as it is written") {
  const std::string text = kRows + R"(graph @g(%x: f32[n, 4], %y: out f32[n, 4]) {
  %a = buffer f32[n, 4];
  event %done count n;
  call @rows(%x, %a) notify (i) => %done;
  call @rows(%a, %y) wait (i) => %done;
}
)";
  auto module = ParseVerified(text);
  std::string before = Print(*module);
  Diagnostics diagnostics;
  REQUIRE(DeriveEvents(*module, {}, diagnostics));
  CHECK(Print(*module) == before);
}

TEST_CASE("derived events are all needed; one more is found") {
  auto module = ParseVerified(kRows + R"(graph @g(%x: f32[n, 4], %y: out f32[n, 4]) {
    %a = buffer f32[n, 4];
    %b = buffer f32[n, 4];
    call @rows(%x, %a);
    call @mean(%a, %b);
    call @rows(%b, %a);
    call @rows(%a, %y);
  })");
  Diagnostics diagnostics;
  REQUIRE(DeriveEvents(*module, {}, diagnostics));
  std::string derived = Print(*module);
  REQUIRE(MinimiseEvents(*module, {}, diagnostics));
  CHECK(Print(*module) == derived);

  std::string more = derived;
  more.insert(more.find("  call @rows(%x, %a)"), "  event %twice count n;\n");
  more.replace(more.find("notify (i) => "), 14, "notify (i) => %twice, ");
  size_t last = more.rfind("wait (i) => ");
  more.replace(last, 12, "wait (i) => %twice, ");
  auto with = ParseVerified(more);
  CHECK(Has(Print(*with), "%twice"));
  REQUIRE(MinimiseEvents(*with, {}, diagnostics));
  CHECK(Print(*with) == derived);
}

}  // namespace
}  // namespace etc
