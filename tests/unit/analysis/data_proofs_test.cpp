// Proofs of programs whose tasks, elements or counts depend on data.
#include <doctest/doctest.h>

#include <string>

#include "proving.h"

namespace etc {
namespace {

TEST_CASE("what no promise says of computed data is left open, not refuted") {
  std::string text = ReadExample("moe_routing.etir");
  std::string arrived = "%arrived[%topk[t, s]] for (s: num_experts_per_tok)";
  std::string done = "%expert_done[%topk[t, s]] for (s: num_experts_per_tok)";
  std::string slot = "in %indptr[%topk[t, s]] * tile .. %indptr[%topk[t, s] + 1] * tile distinct";
  struct Case {
    std::string what, by;
    int64_t counts, races;  // not proved
  };
  // How many tokens come to an expert, and where their rows are, is what orders expert and token.
  for (const Case& c :
       {Case{" counts %topk", "", 1, 1},
        Case{arrived, "%arrived[%topk[t, s]] for (s: num_experts_per_tok - 1)", 1, 1},
        Case{arrived, "%arrived[%topk[t, 3 - s]] for (s: num_experts_per_tok)", 1, 1},
        Case{arrived, "%arrived[%topk[t, 0]] for (s: num_experts_per_tok)", 1, 1},
        Case{done, "%expert_done[%topk[t, 0]]", 0, 1},
        Case{done, "%expert_done[%topk[t, s]] for (s: num_experts_per_tok - 1)", 0, 1},
        Case{slot, "in %indptr[%topk[t, s]] * tile .. %indptr[%topk[t, s] + 1] * tile", 0, 1},
        Case{slot, "in %indptr[%topk[t, s]] * tile .. %indptr[%topk[t, s] + 1] * tile + 1 distinct",
             0, 2},
        Case{slot, "in %indptr[%topk[t, 0]] * tile .. %indptr[%topk[t, s] + 1] * tile distinct", 0,
             2}}) {
    Proved proved = ProveText(Replace(text, c.what, c.by));
    INFO(c.by, "\n", proved.text);
    CHECK(Refuted(proved.report) == 0);
    CHECK(proved.report.counts.not_proved == c.counts);
    CHECK(proved.report.races.not_proved >= c.races);
  }
}

TEST_CASE("a range that other tensors bound keeps indices inside") {
  auto bounds = [](const std::string& range) {
    return ProveText(R"(etir 1;
device @f(%of: i32[4] in 0..3, %begin: i32[4] in 0..9 monotone, %slot: i32[t: 4] in )" +
                     range + R"(, %x: f32[8], %y: out f32[4])
    tasks (i: 4) { %y[i] = %x[%slot[i]]; }
graph @g(%of: i32[4] in 0..3, %begin: i32[4] in 0..9, %slot: i32[4], %x: f32[8], %y: out f32[4]) {
  call @f(%of, %begin, %slot, %x, %y);
}
)");
  };
  CHECK(bounds("%begin[%of[t]] .. %begin[%of[t] + 1]").report.NotProved() == 0);
  CHECK(bounds("%begin[%of[t]] - 1 .. %begin[%of[t] + 1]").report.bounds.not_proved == 1);
  CHECK(bounds("%begin[%of[t]] .. %begin[%of[t] + 1] + 1").report.bounds.not_proved == 1);
}

/// Tasks whose range is computed, and asked to be as `ask` says. They notify an event of the
/// dimensions `done`, at the element `index`, that counts `count`.
Proved ProveRanges(const std::string& count, const std::string& ask, const std::string& done,
                   const std::string& index) {
  return ProveText(R"(etir 1;
const groups = 4;
device @begin(%x: i32[groups], %begin: out i32[groups + 1]) tasks (one: 1) {
  for (g: groups + 1) %begin[g] = sum(f: g) %x[f];
}
device @copy(%x: i32[groups], %p: out i32[groups]) tasks (g: groups) { %p[g] = %x[g]; }
device @tile(%begin: i32[groups + 1] in 0..65 )" +
                   ask + R"(, %p: i32[groups], %y: out i32[64])
    tasks (g: groups, t: %begin[g] .. %begin[g + 1]) { %y[t] = %p[g]; }
device @total(%y: i32[64], %begin: i32[groups + 1] in 0..65, %p: i32[groups], %z: out i32[groups])
    tasks (g: groups) {
  %z[g] = %p[g] + sum(t: %begin[g] .. %begin[g + 1]) %y[t];
}
graph @g(%x: i32[groups], %z: out i32[groups]) {
  %begin = buffer i32[groups + 1];
  %p = buffer i32[groups];
  %y = buffer i32[64];
  event %known count 1;
  event %copied count groups;
  event %done)" + done +
                   " count " + count + R"(;
  call @begin(%x, %begin) notify (one) => %known;
  call @copy(%x, %p) notify (g) => %copied;
  call @tile(%begin, %p, %y) wait (g, t) => %known, %copied notify (g, t) => %done)" +
                   index + R"(;
  call @total(%y, %begin, %p, %z) wait (g) => %known, %copied, %done)" +
                   index + ";\n}\n");
}

TEST_CASE("an event counts the tasks of a range that is computed") {
  auto each = [](const std::string& count, const std::string& ask) {
    return ProveRanges(count, ask, "[g: groups]", "[g]");
  };
  auto all = [](const std::string& count) { return ProveRanges(count, "monotone", "", ""); };
  for (const Proved& proved : {each("%begin[g + 1] - %begin[g]", "monotone"),
                               each("max(%begin[g + 1] - %begin[g], 0)", ""),
                               all("sum(g: groups, t: %begin[g] .. %begin[g + 1]) 1")}) {
    INFO(proved.text);
    CHECK(proved.report.counts.proved == 3);
    CHECK(Refuted(proved.report) == 0);
  }
  for (const Proved& proved :
       {each("%begin[g + 1] - %begin[g]", ""), each("%begin[g + 1] - %begin[g] + 1", "monotone"),
        each("%begin[g + 1] - %begin[0]", "monotone"), each("%begin[1] - %begin[0]", "monotone"),
        all("sum(g: groups - 1, t: %begin[g] .. %begin[g + 1]) 1"),
        all("sum(g: groups, t: %begin[0] .. %begin[g + 1]) 1"),
        all("sum(g: groups, t: %begin[g] .. %begin[g + 1]) 2")}) {
    INFO(proved.text);
    CHECK(proved.report.counts.proved == 2);
  }
}

TEST_CASE("tasks that data may leave out put nothing in order") {
  // Without the wait for %copied, @total would come after @copy only through tasks of @tile.
  Proved proved = ProveText(R"(etir 1;
device @begin(%x: i32[1], %begin: out i32[1]) tasks (one: 1) { %begin[0] = %x[0]; }
device @copy(%x: i32[1], %p: out i32[1]) tasks (one: 1) { %p[0] = %x[0]; }
device @tile(%begin: i32[1] in 0..65, %p: i32[1], %y: out i32[64]) tasks (t: %begin[0]) {
  %y[t] = %p[0];
}
device @total(%y: i32[64], %p: i32[1], %z: out i32[1]) tasks (one: 1) {
  %z[0] = %p[0] + sum(t: 64) %y[t];
}
graph @g(%x: i32[1], %z: out i32[1]) {
  %begin = buffer i32[1];
  %p = buffer i32[1];
  %y = buffer i32[64];
  event %known count 1;
  event %copied count 1;
  event %done count sum(t: %begin[0]) 1;
  call @begin(%x, %begin) notify (one) => %known;
  call @copy(%x, %p) notify (one) => %copied;
  call @tile(%begin, %p, %y) wait (t) => %known, %copied notify (t) => %done;
  call @total(%y, %p, %z) wait (one) => %known, %done;
}
)");
  INFO(proved.text);
  CHECK(proved.report.counts.proved == 3);
  CHECK(proved.text.find("`@total` reads `%y` in order") == std::string::npos);
  CHECK(proved.report.races.not_proved + proved.report.races.refuted == 1);
}

TEST_CASE("what is open in graphs is not said again of their kernels") {
  SourceFile source("t.etir", Replace(ReadExample("moe_routing.etir"), " counts %topk", ""));
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  REQUIRE(module != nullptr);
  ProofReport graphs = Prove(*module, true, diagnostics);
  REQUIRE(graphs.NotProved() > 0);
  CHECK(!diagnostics.all().empty());
  for (bool remarks : {true, false}) {
    Diagnostics again;
    CHECK(Prove(*module, remarks, again, &graphs).NotProved() == graphs.NotProved());
    CHECK(again.all().empty());
  }
}

TEST_CASE("scattering through an index tensor races only if an index may occur twice") {
  const char* text = R"(etir 1;
dim n in 2..8;
device @f(%x: f32[n], %ids: i32[n], %y: inout f32[n]) tasks (i: n) { %y[%ids[i]] = %x[i]; }
graph @g(%x: f32[n], %ids: i32[n] in 0..n, %y: inout f32[n]) { call @f(%x, %ids, %y); }
)";
  Proved proved = ProveText(text);
  CHECK(proved.report.races.refuted == 1);
  CHECK(proved.report.bounds.not_proved == 0);
  CHECK(proved.report.assumptions.size() == 1);
}

TEST_CASE("distinct indices scatter without a race, also through a buffer and its slices") {
  Proved proved = ProveText(R"(etir 1;
dim n in 2..8;
device @f(%x: f32[n], %ids: i32[n], %y: inout f32[n]) tasks (i: n) { %y[%ids[i]] = %x[i]; }
graph @g(%x: f32[n], %ids: i32[n] in 0..n distinct, %y: inout f32[n]) { call @f(%x, %ids, %y); }
)");
  INFO(proved.text);
  CHECK(proved.report.NotProved() + Refuted(proved.report) == 0);
  CHECK(proved.report.assumptions == std::vector<std::string>{"%ids in 0 .. n distinct"});
  // A page table: position p of a sequence stands in row p % 16 of its page p / 16, and a sequence
  // waits for its own rows only.
  proved = ProveText(R"(etir 1;
const pages = 1024;
dim batch in 1..16;
device @append(%x: f32[batch, 64], %pos: i32[batch], %table: i32[batch, 32],
               %cache: inout f32[pages, 16, 64]) tasks (b: batch) {
  let page = %table[b, %pos[b] / 16];
  for (k: 64) %cache[page, %pos[b] % 16, k] = %x[b, k];
}
device @read(%pos: i32[batch], %table: i32[batch, 32], %cache: f32[pages, 16, 64],
             %y: out f32[batch, 64]) tasks (b: batch) {
  for (k: 64) %y[b, k] = sum(p: %pos[b] + 1) %cache[%table[b, p / 16], p % 16, k];
}
graph @g(%x: f32[batch, 64], %pos: i32[batch] in 0..512,
         %table: i32[batch, 32] in 0..pages distinct, %cache: inout f32[pages, 16, 64],
         %y: out f32[batch, 64]) {
  event %appended[batch] count 1;
  call @append(%x, %pos, %table, %cache) notify (b) => %appended[b];
  call @read(%pos, %table, %cache, %y) wait (b) => %appended[b];
}
)");
  INFO(proved.text);
  CHECK(proved.report.NotProved() + Refuted(proved.report) == 0);
  proved = ProveText(R"(etir 1;
dim n in 2..8;
device @turn(%ids: out i32[n]) tasks (one: 1) { for (i: n) %ids[i] = n - 1 - i; }
device @f(%x: f32[n], %ids: i32[n] in 0..n distinct, %y: inout f32[n]) tasks (i: n) {
  %y[%ids[i]] = %x[i];
}
graph @g(%x: f32[n], %y: inout f32[n]) {
  %ids = buffer i32[n];
  event %done count 1;
  call @turn(%ids) notify (one) => %done;
  call @f(%x, %ids, %y) wait (i) => %done;
}
)");
  INFO(proved.text);
  CHECK(proved.report.NotProved() + Refuted(proved.report) == 0);
  CHECK(proved.report.assumptions ==
        std::vector<std::string>{"@f: %ids in 0 .. n distinct (computed, not proved)"});
}

TEST_CASE("rows between monotone bounds do not overlap") {
  const char* text = R"(etir 1;
const rows = 64;
dim n in 1..8;
device @f(%bounds: i32[n + 1], %y: out f32[rows]) tasks (i: n) {
  for (r: %bounds[i] .. %bounds[i + 1]) %y[r] = 1.0;
}
graph @g(%bounds: i32[n + 1] in 0..rows + 1 PROMISE, %y: out f32[rows]) { call @f(%bounds, %y); }
)";
  auto with = [&](const std::string& promise) {
    std::string program = text;
    return ProveText(program.replace(program.find("PROMISE"), 7, promise));
  };
  Proved proved = with("monotone");
  INFO(proved.text);
  CHECK(proved.report.NotProved() + Refuted(proved.report) == 0);
  CHECK(with("").report.NotProved() + Refuted(with("").report) == 1);
  CHECK(with("distinct").report.NotProved() + Refuted(with("distinct").report) == 1);
}

}  // namespace
}  // namespace etc
