#include <doctest/doctest.h>

#include <string>

#include "proving.h"

namespace etc {
namespace {

TEST_CASE("examples are proved completely") {
  for (const char* name :
       {"row_sum.etir", "mlp.etir", "attention.etir", "../tests/programs/qwen3_by_hand.etir",
        "../tests/programs/llama_by_hand.etir", "moe_routing.etir"}) {
    Proved proved = ProveText(ReadExample(name));
    INFO(name, "\n", proved.text);
    CHECK(Refuted(proved.report) == 0);
    // Which rows of experts tokens fill is what `%slot` says.
    CHECK(proved.report.coverage.not_proved == (name == std::string("moe_routing.etir") ? 2 : 0));
    CHECK(proved.report.NotProved() == proved.report.coverage.not_proved);
    CHECK(proved.report.bounds.proved > 0);
    CHECK(proved.report.counts.proved > 0);
    CHECK(proved.report.races.proved > 0);
  }
}

const char* const kTile = R"(etir 1;
dim n in 1..4080;
device @copy(%x: f32[n], %y: out f32[n]) tasks (t: ceildiv(n, 8)) {
  for (r: 8) { let i = t * 8 + r; if (i < n) %y[i] = %x[i]; }
}
)";

TEST_CASE("a ragged last tile is in bounds") {
  Proved proved = ProveText(std::string(kTile) + R"(
graph @g(%x: f32[n], %y: out f32[n]) { call @copy(%x, %y); }
)");
  CHECK(proved.report.bounds.proved == 2);
  CHECK(proved.report.NotProved() + Refuted(proved.report) == 0);
}

TEST_CASE("a wait that misses one tile is a race with an example") {
  Proved proved = ProveText(std::string(kTile) + R"(
graph @g(%x: f32[n], %y: out f32[n]) {
  %t = buffer f32[n];
  event %done[ceildiv(n, 8)] count 1;
  call @copy(%x, %t) notify (t) => %done[t];
  call @copy(%t, %y) wait (t) => %done[t] if t != 3;
}
)");
  CHECK(proved.report.races.refuted == 1);
  CHECK(proved.text.find("`@copy[3]` reads `%t[24]`") != std::string::npos);
  CHECK(proved.text.find("where n = 25") != std::string::npos);
}

TEST_CASE("a chain through several events orders tasks") {
  Proved proved = ProveText(std::string(kTile) + R"(
graph @g(%x: f32[n], %y: out f32[n], %z: out f32[n]) {
  %t = buffer f32[n];
  event %first[ceildiv(n, 8)] count 1;
  event %second count ceildiv(n, 8);
  event %third[ceildiv(n, 8)] count 1;
  call @copy(%x, %t) notify (t) => %first[t];
  call @copy(%t, %y) wait (t) => %first[t] notify (t) => %second;
  call @copy(%x, %z) wait (t) => %second notify (t) => %third[t];
  call @copy(%x, %t) wait (t) => %third[t];
}
)");
  INFO(proved.text);
  CHECK(proved.report.NotProved() + Refuted(proved.report) == 0);
}

TEST_CASE("a call that writes a part of a tensor does not stand for the one before it") {
  Proved proved = ProveText(std::string(kTile) + R"(
device @even(%x: f32[n], %y: out f32[n]) tasks (t: ceildiv(n, 16)) {
  for (r: 8) { let i = t * 16 + r; if (i < n) %y[i] = %x[i]; }
}
graph @g(%x: f32[n], %y: out f32[n]) {
  %t = buffer f32[n];
  event %first[ceildiv(n, 8)] count 1;
  event %second[ceildiv(n, 16)] count 1;
  call @copy(%x, %t) notify (t) => %first[t];
  call @even(%x, %t) wait (t) => %first[2 * t] notify (t) => %second[t];
  call @copy(%t, %y) wait (t) => %second[t / 2];
}
)");
  INFO(proved.text);
  CHECK(proved.report.races.refuted == 1);
  CHECK(proved.text.find("`@copy[1]` reads `%t[8]`, which `@copy[1]` writes") != std::string::npos);
}

TEST_CASE("tasks of one call that write one element race") {
  Proved proved = ProveText(R"(etir 1;
dim n in 2..8;
device @f(%x: f32[n], %y: out f32[1]) tasks (i: n) { %y[i / n] = %x[i]; }
graph @g(%x: f32[n], %y: out f32[1]) { call @f(%x, %y); }
)");
  CHECK(proved.report.NotProved() + Refuted(proved.report) > 0);
}

TEST_CASE("buffers that share memory must be used in order") {
  const char* text = R"(etir 1;
dim n in 1..64;
device @copy(%x: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i]; }
graph @g(%x: f32[n], %y: out f32[n], %z: out f32[n]) {
  call @copy(%x, %y);
  call @copy(%x, %z);
}
kernel @k(%x: f32[n], %y: out f32[n], %z: out f32[n]) of @g static {
  launch consumers 8 shared 225280;
  %t = workspace f32[n] at 0;
  %u = workspace f32[n] at OFFSET;
  event %t_ready[n] count 1 via counter;
  event %t_used count n via counter;
  event %u_ready[n] count 1 via counter;
  on sm {
    share (i: n) from 0 { run @copy[i](%x, %t); notify %t_ready[i]; }
    share (i: n) from n { wait %t_ready[i]; run @copy[i](%t, %y); notify %t_used; }
    share (i: n) from 0 { WAIT run @copy[i](%x, %u); notify %u_ready[i]; }
    share (i: n) from n { wait %u_ready[i]; run @copy[i](%u, %z); }
  }
}
)";
  auto with = [&](const std::string& offset, const std::string& wait) {
    std::string program = text;
    program.replace(program.find("OFFSET"), 6, offset);
    program.replace(program.find("WAIT"), 4, wait);
    return ProveText(program);
  };
  auto shared = [](const Proved& proved) {
    return proved.text.find("they overlap in the workspace") != std::string::npos;
  };
  CHECK_FALSE(shared(with("align(n * 4, 256)", "")));
  CHECK_FALSE(shared(with("0", "wait %t_used;")));
  CHECK(shared(with("0", "")));
  CHECK(shared(with("align(n * 4, 16) - 16", "")));
}

TEST_CASE("a count is a product of sizes") {
  Proved proved = ProveText(R"(etir 1;
dim n in 1..64;
dim m in 1..64;
device @f(%x: f32[n, m], %y: out f32[n, m]) tasks (i: n, j: m) { %y[i, j] = %x[i, j]; }
graph @g(%x: f32[n, m], %y: out f32[n, m]) {
  %t = buffer f32[n, m];
  event %done count n * m;
  call @f(%x, %t) notify (i, j) => %done;
  call @f(%t, %y) wait (i, j) => %done;
}
)");
  INFO(proved.text);
  CHECK(proved.report.counts.proved == 1);
  CHECK(proved.report.NotProved() + Refuted(proved.report) == 0);
}

TEST_CASE("a count is a product over pieces, of sizes that the facts about them allow") {
  auto counts = [](const std::string& count) {
    return ProveText(R"(etir 1;
dim n in 1..16;
device @f(%x: f32[n], %y: out f32[n, 7, max(1, 8 / n)]) tasks (i: n, j: 7, s: max(1, 8 / n)) {
  %y[i, j, s] = %x[i];
}
device @g(%y: f32[n, 7, max(1, 8 / n)], %z: out f32[n, 7]) tasks (i: n, j: 7) {
  %z[i, j] = %y[i, j, 0];
}
graph @h(%x: f32[n], %z: out f32[n, 7]) {
  %y = buffer f32[n, 7, max(1, 8 / n)];
  event %done[p: 4] count )" +
                     count + R"(;
  call @f(%x, %y) notify (i, j, s) => %done[j / 2];
  call @g(%y, %z) wait (i, j) => %done[j / 2];
}
)");
  };
  CHECK(counts("n * min(2, 7 - p * 2) * max(1, 8 / n)").report.NotProved() == 0);
}

}  // namespace
}  // namespace etc
