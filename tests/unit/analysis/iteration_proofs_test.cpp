// Proofs that iterations of a `for` do not depend on each other.
#include <doctest/doctest.h>

#include <string>

#include "proving.h"

namespace etc {
namespace {

/// `body` in tasks `t` of 4, with `n` a dimension and `%p` indices below `n`.
Proved ProveBody(const std::string& body, const std::string& promise = "in 0..n") {
  return ProveText(R"(etir 1;
dim n in 2..640;
device @f(%x: f32[n], %p: i32[n] )" +
                   promise + R"(, %y: inout f32[n], %z: inout f32[n, 4], %i: inout i32[8])
    tasks (one: 1) {
  )" + body + R"(
}
graph @g(%x: f32[n], %p: i32[n] )" +
                   promise + R"(, %y: inout f32[n], %z: inout f32[n, 4], %i: inout i32[8]) {
  call @f(%x, %p, %y, %z, %i);
}
)");
}

TEST_CASE("iterations that touch elements of their own") {
  for (const char* body : {
           "for (i: n) %y[i] = %y[i] + %x[i];",
           "for (i: n) %y[n - 1 - i] = %y[n - 1 - i] + %x[i];",
           "for (i: n, j: 4) %z[i, j] = %x[i];",
           "for (i: n) for (j: 4) %z[i, 3 - j] = %x[i];",
           "for (i: n) { let k = n - 1 - i; for (j: 4) { let l = k; %z[l, j] = %z[k, j]; } }",
           "for (i: n / 2) %y[i * 2] = %x[i];",
           "for (i: n / 2) { %y[i * 2] = %x[i]; %y[i * 2 + 1] = %x[i]; }",
           "for (i: n / 4, j: 4) %y[i * 4 + j] = %x[i];",
           "for (i: 4 * n) %z[i / 4, i % 4] = 1.0;",
           "for (i: n) { local %s: f32[2]; for (j: 2) %s[j] = %x[i]; %y[i] = %s[0] + %s[1]; }",
           "local %s: f32[4]; for (i: 4) { %s[i] = %x[0]; if (i < 2) %y[i] = %s[i]; }",
           "for (i: n) if (i == 1) %y[0] = %x[i];",
           "for (i: n) if (i < n / 2) %y[i] = %y[n - 1 - i];",
           "for (i: %p[0]) %y[i] = %x[i];",
           "for (i: min(%i[0], 2)) %i[i] = 1;",
           "(%y[s], %i[s]) = topk(s: 1; e: n) %y[e];",
           "for (i: n) { local %v: f32[4]; local %w: i32[4]; (%v[s], %w[s]) = topk(s: 4; e: n) "
           "%x[e]; for (s: 4) %z[i, s] = %v[s]; }",
       }) {
    Proved proved = ProveBody(body);
    INFO(body, "\n", proved.text);
    CHECK(proved.report.iterations.proved > 0);
    CHECK(proved.report.iterations.refuted == 0);
    CHECK(proved.report.iterations.not_proved == 0);
  }
}

TEST_CASE("iterations that depend on each other") {
  for (const char* body : {
           "for (i: 1..n) %y[i] = %y[i - 1];",
           "for (i: n) %y[0] = %x[i];",
           "for (i: n) %y[i / 2] = %x[i];",
           "for (i: n) %y[i % 2] = %x[i];",
           "for (i: n) %y[n - 1] = %y[n - 1] + %x[i];",
           "for (i: n - 1) { %y[i] = %x[i]; %y[i + 1] = %x[i]; }",
           "for (i: n) for (j: 4) %y[i] = %y[i] + %z[i, j];",
           "for (i: n, j: 4) %y[i] = %x[i];",
           "for (i: n, j: 4) %z[0, j] = %x[i];",
           "for (i: n) %y[%p[i]] = %x[i];",
           "for (i: n) %y[i] = %y[%p[i]];",
           "local %s: f32[1]; for (i: n) { %s[0] = %x[i]; %y[i] = %s[0]; }",
           "for (i: n) %y[i] = sum(j: n) %y[j];",
           "(%y[s], %i[s]) = topk(s: 2; e: n) %y[e];",
           "(%y[0], %i[s]) = topk(s: 2; e: n) %x[e];",
       }) {
    Proved proved = ProveBody(body);
    INFO(body, "\n", proved.text);
    CHECK(proved.report.iterations.refuted > 0);
    CHECK(proved.text.find("[iteration-race]") != std::string::npos);
  }
}

TEST_CASE("iterations whose elements data choose") {
  CHECK(ProveBody("for (i: n) %y[%p[i]] = %x[i];", "in 0..n distinct").report.NotProved() == 0);
  for (const char* body : {
           "for (i: n) if (%x[i] > 0.0) %y[0] = %x[i];",
           "local %s: i32[4]; for (i: min(n, 4)) %s[i] = %p[i]; for (i: min(n, 4)) %y[%s[i]] = "
           "%x[i];",
       }) {
    Proved proved = ProveBody(body);
    INFO(body, "\n", proved.text);
    CHECK(proved.report.iterations.refuted == 0);
    CHECK(proved.report.iterations.not_proved > 0);
  }
}

TEST_CASE("parameters that are given one tensor") {
  auto call = [](const std::string& args) {
    return ProveText(R"(etir 1;
dim n in 2..640;
device @reverse(%x: f32[n], %y: inout f32[n]) tasks (one: 1) {
  for (i: n) %y[i] = %x[n - 1 - i];
}
graph @g(%a: inout f32[n], %b: inout f32[n], %c: inout f32[2, n]) { call @reverse()" +
                     args + "); }")
        .report.iterations;
  };
  CHECK(call("%a, %b").refuted == 0);
  CHECK(call("%a, %a").refuted == 1);
  CHECK(call("%c[0], %c[1]").refuted == 0);
  CHECK(call("%c[0], %c[1]").not_proved == 0);
  CHECK(call("%c[1], %c[1]").refuted == 1);
}

}  // namespace
}  // namespace etc
