// Proofs that what is read was written, and what is known of quotients and of computed values.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "proving.h"

namespace etc {
namespace {

/// A buffer that `writer` fills in tasks of `n`, and `reader` reads.
Proved ProveBuffer(const std::string& writer, const std::string& reader) {
  return ProveText(R"(etir 1;
dim n in 2..640;
device @write(%x: f32[n], %p: i32[n] in 0..n distinct, %q: i32[n] in 0..n, %b: out f32[n])
    tasks ()" + writer +
                   R"( }
device @read(%b: f32[n], %q: i32[n] in 0..n, %y: out f32[n]) tasks (i: n) { )" +
                   reader + R"( }
graph @g(%x: f32[n], %p: i32[n] in 0..n distinct, %q: i32[n] in 0..n, %y: out f32[n]) {
  %b = buffer f32[n];
  event %done count 1;
  call @write(%x, %p, %q, %b) notify (one) => %done;
  call @read(%b, %q, %y) wait (i) => %done;
}
)");
}

TEST_CASE("what is read of a buffer was written") {
  std::string all = "one: 1) { for (i: n) %b[i] = %x[i];";
  std::string tiles = "one: 1) { for (i: n / 8 * 8) %b[i] = %x[i];";
  std::string positive = "one: 1) { for (i: n) if (%x[i] > 0.0) %b[i] = %x[i];";
  std::string permuted = "one: 1) { for (i: n) %b[%p[i]] = %x[i];";
  std::string some = "one: 1) { for (i: n - 1) %b[%p[i]] = %x[i];";
  std::string each = "%y[i] = %b[i];";
  std::string gathered = "%y[i] = %b[%q[i]];";
  std::string whole_tiles = "if (i < n / 8 * 8) %y[i] = %b[i];";
  struct Case {
    std::string writer, reader;
    int64_t proved, refuted, open;
  };
  for (const Case& c :
       {Case{all, each, 1, 0, 0}, Case{all, gathered, 1, 0, 0}, Case{tiles, each, 0, 1, 0},
        Case{tiles, gathered, 0, 1, 0}, Case{tiles, whole_tiles, 1, 0, 0},
        Case{positive, each, 0, 0, 1}, Case{permuted, each, 1, 0, 0},
        Case{permuted, gathered, 1, 0, 0}, Case{some, each, 0, 0, 1}}) {
    Proved proved = ProveBuffer(c.writer, c.reader);
    INFO(c.writer, "\n", c.reader, "\n", proved.text);
    CHECK(proved.report.coverage.proved == c.proved);
    CHECK(proved.report.coverage.refuted == c.refuted);
    CHECK(proved.report.coverage.not_proved == c.open);
  }
}

Proved ProveBody(const std::string& body) {
  return ProveText(R"(etir 1;
dim n in 1..64;
dim h in 1..16;
device @f(%x: f32[n], %y: inout f32[h], %z: inout f32[n, h], %s: inout f32[n * h]) tasks (one: 1) {
  )" + body + R"(
}
graph @g(%x: f32[n], %y: inout f32[h], %z: inout f32[n, h], %s: inout f32[n * h]) {
  call @f(%x, %y, %z, %s);
}
)");
}

TEST_CASE("what a task reads of a local it has written") {
  struct Case {
    const char* body;
    int64_t refuted, open;
  };
  for (const Case& c :
       {Case{"local %t: f32[64]; for (i: n) %t[i] = %x[i]; %y[0] = sum(i: n) %t[i];", 0, 0},
        Case{"local %t: f32[64]; for (i: n - 1) %t[i] = %x[i]; %y[0] = sum(i: n) %t[i];", 1, 0},
        Case{"local %t: f32[64]; for (i: n - 1) %t[i] = %x[i]; %y[0] = sum(i: n - 1) %t[i];", 0, 0},
        Case{"local %t: f32[64]; for (i: n - 1) %t[i + 1] = %x[i]; %t[0] = 1.0; %y[0] = %t[n - 1];",
             0, 0},
        Case{"local %t: f32[1]; if (n > 8) %t[0] = 1.0; if (n > 8) %y[0] = %t[0];", 0, 0},
        Case{"local %t: f32[1]; if (n > 8) %t[0] = 1.0; if (n > 7) %y[0] = %t[0];", 1, 0},
        Case{"local %t: f32[1]; if (%x[0] > 1.0) %t[0] = 1.0; else %t[0] = 2.0; %y[0] = %t[0];", 0,
             0},
        Case{"local %t: f32[1]; if (%x[0] > 1.0) %t[0] = 1.0; %y[0] = %t[0];", 0, 1},
        Case{"local %t: f32[64]; %t[0] = 1.0; scan (i: 1..n) %t[i] = %t[i - 1] + %x[i];", 0, 0},
        Case{"local %t: f32[64]; %t[0] = 1.0; scan (i: 1..n) %t[i] = %t[i] + %x[i];", 1, 0},
        Case{"local %t: f32[64]; %t[0] = 1.0; for (j: n) scan (i: 1..n) { local %u: f32[1]; %u[0] "
             "= %x[i]; %y[0] = %u[0]; }",
             1, 0},  // iterations of the outer loop store to one element
        Case{"scan (i: n, j: 2) { local %u: f32[2]; %u[j] = %x[i]; %y[0] = %u[j]; }", 0, 0},
        Case{"scan (i: n) { local %u: f32[2]; %u[i % 2] = %x[i]; %y[0] = %u[0]; }", 1, 0}}) {
    Proved proved = ProveBody(c.body);
    INFO(c.body, "\n", proved.text);
    CHECK(Refuted(proved.report) == c.refuted);
    CHECK(proved.report.NotProved() == c.open);
  }
}

TEST_CASE("quotients and remainders by a size") {
  for (const char* body :
       {"for (i: n) { local %l: f32[1]; %l[0] = %x[i]; } %y[n % h] = %x[0];",
        "for (i: n * h) %s[i / h * h + i % h] = 1.0;", "for (i: n, j: h) %s[i * h + j] = %x[i];"}) {
    Proved proved = ProveBody(body);
    INFO(body, "\n", proved.text);
    CHECK(Refuted(proved.report) == 0);
    CHECK(proved.report.NotProved() == 0);
  }
}

TEST_CASE("what is open is refuted at small sizes") {
  for (const char* body : {"for (i: n * h) %z[i / h, 0] = 1.0;", "for (i: n) %y[i % h] = %x[i];",
                           "for (i: n) %s[i / h] = %x[i];"}) {
    Proved proved = ProveBody(body);
    INFO(body, "\n", proved.text);
    CHECK(Refuted(proved.report) > 0);
  }
}

TEST_CASE("values that the program computes") {
  auto prove = [](const std::string& stores, const std::string& promise) {
    return ProveText(R"(etir 1;
const experts = 8;
dim n in 1..64;
device @route(%x: f32[n, experts], %e: out i32[n]) tasks (t: n) { )" +
                     stores + R"( }
device @use(%e: i32[n] )" +
                     promise + R"(, %w: f32[experts], %y: out f32[n]) tasks (t: n) {
  %y[t] = %w[%e[t]];
}
graph @g(%x: f32[n, experts], %w: f32[experts], %y: out f32[n]) {
  %e = buffer i32[n];
  event %done count n;
  call @route(%x, %e) notify (t) => %done;
  call @use(%e, %w, %y) wait (t) => %done;
}
)");
  };
  auto assumes = [](const Proved& proved, const std::string& text) {
    const auto& all = proved.report.assumptions;
    return std::find(all.begin(), all.end(), text) != all.end();
  };
  std::string topk =
      "local %v: f32[1]; local %i: i32[1]; (%v[s], %e[t]) = "
      "topk(s: 1; k: experts) %x[t, k];";
  for (const std::string& stores : {topk, std::string("%e[t] = argmax(k: experts) %x[t, k];"),
                                    std::string("%e[t] = (t * 3) % experts;")}) {
    Proved without = prove(stores, "");
    INFO(stores, "\n", without.text);
    CHECK(without.report.NotProved() == 0);
    CHECK(assumes(prove(stores, "in 0..experts"), "@use: %e in 0 .. experts (computed, proved)"));
  }
  Proved beyond = prove("%e[t] = t % (experts + 1);", "in 0..experts");
  CHECK(assumes(beyond, "@use: %e in 0 .. experts (computed, not proved)"));
  CHECK(prove("%e[t] = t % (experts + 1);", "").report.bounds.not_proved == 1);
}

}  // namespace
}  // namespace etc
