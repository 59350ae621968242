#include "simulator/kernel_cost.h"

#include <doctest/doctest.h>

#include <memory>

#include "schedule/choose_throttles.h"
#include "schedule/lower.h"
#include "simulator/simulate.h"
#include "simulator/sizes.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc {
namespace {

/// A chain of `layers` products of a vector with a square matrix.
std::string Products(int layers, int width) {
  return "etir 1;\nconst layers = " + std::to_string(layers) +
         ";\nconst width = " + std::to_string(width) + R"(;
dim batch in 1..8;
dim length in 1..4096;
device @start(%ids: i32[batch], %table: bf16[1000, width], %x: out bf16[batch, width])
    tasks (b: batch) {
  for (k: width) %x[b, k] = %table[%ids[b], k];
}
device @product(%x: bf16[batch, width], %w: bf16[width, width], %y: out bf16[batch, width])
    tasks (m: width / 16) {
  impl sm_90a "g.cuh" G preloaded (%w);
  for (b: batch, r: 16) %y[b, m * 16 + r] = sum(k: width) %w[m * 16 + r, k] * %x[b, k];
}
device @pool(%x: bf16[batch, width], %pos: i32[batch], %cache: f32[batch, length, width],
             %y: out f32[batch, width]) tasks (b: batch, s: 4) {
  let last = %pos[b] + 1;
  let first = s * ceildiv(last, 4);
  if (s == 0) {
    for (c: width) %y[b, c] = %x[b, c] +
                              sum(t: first..min(last, first + ceildiv(last, 4))) %cache[b, t, c];
  }
}
graph @g(%ids: i32[batch] in 0..1000, %pos: i32[batch] in 0..length, %table: bf16[1000, width],
         %w: bf16[layers, width, width], %cache: f32[batch, length, width],
         %out: out f32[batch, width]) {
  %a = buffer bf16[layers + 1, batch, width];
  event %done[l: layers + 1] count select(l == 0, batch, width / 16);
  call @start(%ids, %table, %a[0]) notify (b) => %done[0];
  repeat l in 0..layers {
    call @product(%a[l], %w[l], %a[l + 1]) wait (m) => %done[l] notify (m) => %done[l + 1];
  }
  call @pool(%a[layers], %pos, %cache, %out) wait (b, s) => %done[layers];
}
)";
}

struct Scheduled {
  std::unique_ptr<Module> module;
  Env dims;

  Scheduled(const std::string& text, int64_t batch, int64_t length, bool flagged = false,
            ScheduleKind schedule = ScheduleKind::Static) {
    ScheduleOptions options;
    options.schedule = schedule;
    options.flag_in_data = flagged;
    SourceFile source("test.etir", text);
    Diagnostics diagnostics;
    module = Parse(source, diagnostics);
    INFO(RenderText(diagnostics, &source));
    REQUIRE(module);
    bool verified = Verify(*module, diagnostics);
    INFO(RenderText(diagnostics, &source));
    REQUIRE(verified);
    for (const Pass& pass : StaticPipeline(options)) {
      REQUIRE(pass.run(*module, options, diagnostics));
    }
    for (SymbolId symbol : module->symbols.Ids()) {
      if (module->symbols[symbol].kind == SymbolKind::Dim) {
        dims[symbol] = module->symbols[symbol].name == "batch" ? batch : length;
      }
    }
  }
  const Kernel& kernel() const { return module->kernels[KernelId{0}]; }
  KernelCost Cost() const { return CostOf(*module, kernel(), dims, DefaultTarget()); }
};

TEST_CASE("bytes and operations are counted from the bodies") {
  KernelCost cost = Scheduled(Products(3, 1024), 2, 100).Cost();
  REQUIRE(cost.calls.size() == 3);

  const CallCost& start = cost.calls[0];
  CHECK(start.tasks == 2);
  // Two rows of the table, chosen by two ids, not all of it.
  CHECK(start.read_bytes == 2 * 1024 * 2 + 2 * 4);
  CHECK(start.flops == 0);
  CHECK(start.edges.empty());

  const CallCost& product = cost.calls[1];
  CHECK(product.iterations == 3);
  CHECK(product.tasks == 64);
  CHECK(product.tasks_per_sm == 1);
  CHECK(product.balance == doctest::Approx(64.0 / 132));
  CHECK(product.streamed_bytes == 1024 * 1024 * 2);
  CHECK(product.read_bytes == 0);
  CHECK(product.fetched_bytes == 64 * 2 * 1024 * 2);
  CHECK(product.flops == 2.0 * 2 * 1024 * 1024);
  REQUIRE(product.edges.size() == 1);
  CHECK(product.edges[0].mechanism == Mechanism::Hoisted);

  // Of each sequence the positions up to the largest that the launch allows.
  const CallCost& pool = cost.calls[2];
  CHECK(pool.tasks == 8);
  CHECK(pool.read_bytes == 2 * 100 * 1024 * 4 + 2 * 4);
  CHECK(cost.bytes == start.read_bytes + 3 * product.streamed_bytes + pool.read_bytes);
  CHECK(cost.flops == pool.flops + 3 * product.flops);
}

TEST_CASE("tasks and operations are exact where the last round alone is ragged") {
  // 1000 columns are 16 tiles of 64, the last with 40, in groups of 3; 9 rows are blocks of 4,
  // 4, 1.
  const Scheduled scheduled(R"(etir 1;
dim batch in 1..64;
device @product(%x: f32[batch, 32], %w: f32[1000, 32], %y: out f32[batch, 1000])
    tasks (g: ceildiv(16, 3), i: ceildiv(batch, 4), j: g * 3 .. min((g + 1) * 3, 16)) {
  for (r: i * 4 .. min((i + 1) * 4, batch), c: j * 64 .. min((j + 1) * 64, 1000)) {
    %y[r, c] = sum(k: 32) %x[r, k] * %w[c, k];
  }
}
graph @g(%x: f32[batch, 32], %w: f32[1000, 32], %y: out f32[batch, 1000]) {
  call @product(%x, %w, %y);
}
)",
                            9, 1);
  const CallCost call = scheduled.Cost().calls.at(0);
  CHECK(call.tasks == 16 * 3);
  CHECK(call.flops == doctest::Approx(2.0 * 9 * 1000 * 32));
}

TEST_CASE("a signal of a peer counts as the target says") {
  const Scheduled scheduled(R"(etir 1;
mesh tp = 2;
dim batch in 1..8;
device @send(%x: f32[1, batch], %slots: out symmetric f32[tp, batch]) tasks (i: batch, to: tp) {
  %slots@(to)[rank, i] = %x[0, i];
}
device @add(%slots: f32[tp, batch], %y: out f32[batch]) tasks (i: batch) {
  %y[i] = sum(r: tp) %slots[r, i];
}
device @twice(%y: f32[batch], %z: out f32[batch]) tasks (i: batch) {
  %z[i] = 2.0 * %y[i];
}
graph @g(%x: f32[shard tp, batch], %z: out f32[batch]) {
  %slots = buffer symmetric f32[tp, batch];
  %y = buffer f32[batch];
  event symmetric %arrived[batch] count tp;
  event %added[batch] count 1;
  call @send(%x, %slots) notify (i, to) => %arrived@(to)[i];
  call @add(%slots, %y) wait (i) => %arrived[i] notify (i) => %added[i];
  call @twice(%y, %z) wait (i) => %added[i];
}
)",
                            2, 2);
  const std::vector<CallCost> calls = scheduled.Cost().calls;
  REQUIRE(calls.size() == 3);
  const PerSignal signal{1, 10}, of_peer{2, 3};
  CHECK(SlowestEdge(calls[0], signal, of_peer) == 0);
  CHECK(SlowestEdge(calls[1], signal, of_peer) == 30);
  CHECK(SlowestEdge(calls[2], signal, of_peer) == 10);
  // Each rank stores two floats at the other one; what it has for itself takes no link.
  CHECK(calls[0].sent_bytes == 2 * 4);
  CHECK(calls[1].sent_bytes == 0);
}

TEST_CASE("parts that share an axis unevenly read it once, and pages no more than what they hold") {
  const Scheduled scheduled(R"(etir 1;
dim batch in 1..8;
dim length in 1..4096;
const parts = 3;
device @sums(%x: f32[batch, 1024], %pages: i32[batch, 64], %pool: f32[1024, 16, 64],
             %y: out f32[parts, batch, 64]) tasks (p: parts) {
  for (b: batch, c: 64) {
    %y[p, b, c] = sum(k: p * 4 / parts * 256..(p + 1) * 4 / parts * 256) %x[b, k] +
                  sum(t: 20) %pool[%pages[b, t / 16], t % 16, c];
  }
}
graph @g(%x: f32[batch, 1024], %pages: i32[batch, 64] in 0..1024, %pool: f32[1024, 16, 64],
         %y: out f32[parts, batch, 64]) {
  call @sums(%x, %pages, %pool, %y);
}
)",
                            2, 1);
  const CallCost call = scheduled.Cost().calls[0];
  CHECK(call.read_bytes == 2 * 1024 * 4 + 2 * 20 * 64 * 4 + 2 * 20 * 4);
}

TEST_CASE("a call's time goes to what limits it") {
  auto limit = [](int width, int64_t batch) {
    const KernelCost cost = Scheduled(Products(8, width), batch, 1).Cost();
    return cost.calls[1].times.Longest();
  };
  CHECK(limit(256, 1) == Limit::Signals);
  CHECK(limit(8192, 1) == Limit::Memory);
}

TEST_CASE("a repeat in a repeat is played round by round") {
  std::string text = Products(6, 4096);
  KernelCost flat = Scheduled(text, 1, 1).Cost();
  size_t body = text.find("    call @product");
  size_t end = text.find("  }", body);
  text.replace(body, end - body, R"(    repeat i in 0..3 {
      call @product(%a[l * 3 + i], %w[l * 3 + i], %a[l * 3 + i + 1])
          wait (m) => %done[l * 3 + i] notify (m) => %done[l * 3 + i + 1];
    }
)");
  text.replace(text.find("l in 0..layers"), 14, "l in 0..2");
  KernelCost nested = Scheduled(text, 1, 1).Cost();
  CHECK(nested.times.Sum() == doctest::Approx(flat.times.Sum()).epsilon(0.01));
}

TEST_CASE("a coarse play takes as long as one of every task") {
  for (ScheduleKind schedule : {ScheduleKind::Static, ScheduleKind::Drain}) {
    for (int width : {256, 1024, 4096}) {
      const Scheduled scheduled(Products(12, width), 4, 100, false, schedule);
      KernelCost cost = scheduled.Cost();
      Simulation full = Simulate(*scheduled.module, scheduled.kernel(), scheduled.dims,
                                 DefaultTarget(), cost.calls, Edges::Scheduled, Grain::Tasks);
      CHECK_FALSE(full.run.stuck);
      CHECK((full.run.tickets > 0) == (schedule == ScheduleKind::Drain));
      CHECK(cost.times.Sum() == doctest::Approx(full.us).epsilon(0.01));
    }
  }
}

TEST_CASE("two calls on different SMs that stream one tensor are at work at once") {
  // Two halves of %w, by 4 tasks each, of which the second takes up what the first made.
  auto time = [](const std::string& second) {
    std::string text = R"(etir 1;
device @first(%w: bf16[1024, 8192], %y: out f32[4]) tasks (m: 4) {
  impl sm_90a "g.cuh" G preloaded (%w) flagged (%y);
  %y[m] = sum(r: 128, k: 8192) %w[m * 128 + r, k];
}
device @second(%w: bf16[1024, 8192], %y: f32[4], %z: out f32[4]) tasks (m: 4) {
  impl sm_90a "g.cuh" G preloaded (%w) flagged (%y);
  %z[m] = %y[m] + sum(r: 128, k: 8192) %w[512 + m * 128 + r, k];
}
graph @g(%w: bf16[1024, 8192], %v: bf16[1024, 8192], %z: out f32[4]) {
  %y = buffer f32[4];
  call @first(%w, %y);
  call @second()" + second +
                       R"(, %y, %z);
}
)";
    return Scheduled(text, 1, 1, true).Cost().times.Sum();
  };
  CHECK(time("%w") < 0.6 * time("%v"));
}

TEST_CASE("a prediction is no less than the floor, nor than the chain") {
  for (int width : {256, 1024, 4096, 8192}) {
    KernelCost cost = Scheduled(Products(8, width), 1, 1).Cost();
    double chain = 0;
    for (const CallCost& call : cost.calls) {
      chain += static_cast<double>(call.iterations) * call.latency_us;
      CHECK(call.times.Sum() >= call.latency_us);
    }
    CHECK(cost.times.Sum() >= cost.floor_us);
    CHECK(cost.times.Sum() >= chain);
  }
}

TEST_CASE(
    "in a chain of events a loader has a slot more in flight where the stream sets the time") {
  auto throttle = [](int width) {
    const Scheduled scheduled(Products(8, width), 1, 1);
    REQUIRE(scheduled.kernel().throttle);
    return *scheduled.kernel().throttle;
  };
  CHECK(throttle(1024).IsSame({2, 0, 1}));  // 0.5 us of streaming for 2.2 of signals
  CHECK(throttle(4096).IsSame({2, 0, 1}));  // 7.3 us
  CHECK(throttle(8192).IsSame({3, 0, 1}));  // 29 us
}

/// A chain of 16 products of `rows` vectors, in words that say by themselves whether they are
/// there.
std::string WordProducts(int rows, int width) {
  return "etir 1;\nconst layers = 8;\nconst rows = " + std::to_string(rows) +
         ";\nconst width = " + std::to_string(width) + R"(;
device @start(%x: bf16[rows, width], %y: out bf16[rows, width]) tasks (b: rows) {
  impl sm_90a "g.cuh" G flagged (%y);
  for (k: width) %y[b, k] = %x[b, k];
}
device @product(%x: bf16[rows, width], %w: bf16[width, width], %y: out bf16[rows, width])
    tasks (m: width / 16) {
  impl sm_90a "g.cuh" G preloaded (%w) flagged (%x, %y);
  for (b: rows, r: 16) %y[b, m * 16 + r] = sum(k: width) %w[m * 16 + r, k] * %x[b, k];
}
device @end(%x: bf16[rows, width], %y: out bf16[rows, width]) tasks (b: rows) {
  impl sm_90a "g.cuh" G flagged (%x);
  for (k: width) %y[b, k] = %x[b, k];
}
graph @g(%in: bf16[rows, width], %v: bf16[layers, width, width], %w: bf16[layers, width, width],
         %out: out bf16[rows, width]) {
  %s = buffer bf16[rows, width];
  %a = buffer bf16[rows, width];
  event %s_done[l: layers + 1] count select(l == 0, rows, width / 16);
  event %a_done[layers] count width / 16;
  call @start(%in, %s) notify (b) => %s_done[0];
  repeat l in 0..layers {
    call @product(%s, %v[l], %a) wait (m) => %s_done[l] notify (m) => %a_done[l];
    call @product(%a, %w[l], %s) wait (m) => %a_done[l] notify (m) => %s_done[l + 1];
  }
  call @end(%s, %out) wait (b) => %s_done[layers];
}
)";
}

TEST_CASE("a loader prefetches where a long stream is held up by activations") {
  auto throttle = [](int rows, int width) {
    const Scheduled scheduled(WordProducts(rows, width), 1, 1, true);
    REQUIRE(scheduled.kernel().throttle);
    return *scheduled.kernel().throttle;
  };
  CHECK(throttle(8, 8192).IsSame({4, 0, {}, 1400}));  // 35 MB of activations in an iteration
  CHECK(throttle(4, 8192).IsSame({4, 0}));            // 17 MB
  CHECK(throttle(8, 2048).IsSame({3, 700}));          // 9 MB
}

TEST_CASE("what streams long beside a short chain has a throttle of its own") {
  std::string text = Products(8, 4096);
  size_t pool = text.find("  call @pool");
  text.insert(pool, "  call @wide(%a[layers], %v, %logits) wait (m) => %done[layers];\n");
  text.insert(text.find("         %out: out"),
              "         %v: bf16[262144, width], %logits: out f32[batch, 262144],\n");
  text.insert(text.find("graph @g"), R"(
device @wide(%x: bf16[batch, width], %w: bf16[262144, width], %y: out f32[batch, 262144])
    tasks (m: 16384) {
  impl sm_90a "g.cuh" G preloaded (%w);
  for (b: batch, r: 16) %y[b, m * 16 + r] = sum(k: width) %w[m * 16 + r, k] * %x[b, k];
}
)");
  const Scheduled scheduled(text, 1, 1);
  std::vector<ThrottleChoice> choices =
      ChooseThrottles(*scheduled.module, scheduled.kernel(), DefaultTarget());
  REQUIRE(choices.size() == 2);
  const ThrottleChoice& wide = choices[0];
  CHECK_FALSE(wide.repeat);
  REQUIRE(wide.shares.size() == 1);
  CHECK(wide.streamed_bytes == 262144.0 * 4096 * 2);
  CHECK(wide.throttle.IsSame({3, 0, 1}));
  const ThrottleChoice& products = choices[1];
  CHECK(products.repeat);
  REQUIRE(products.shares.size() == 1);
  CHECK(products.throttle.IsSame({2, 0, 1}));

  // What streams most stands for the kernel.
  auto own = [&](const ThrottleChoice& choice) {
    return std::get<Share>(scheduled.module->nodes[choice.shares[0]]).throttle;
  };
  REQUIRE(scheduled.kernel().throttle);
  CHECK(scheduled.kernel().throttle->IsSame(wide.throttle));
  CHECK_FALSE(own(wide));
  REQUIRE(own(products));
  CHECK(own(products)->IsSame(products.throttle));
}

TEST_CASE("a kernel that streams nothing has no throttle") {
  std::string text = Products(2, 1024);
  text.erase(text.find("  impl sm_90a"),
             text.find("  for (b: batch, r: 16)") - text.find("  impl sm_90a"));
  CHECK_FALSE(Scheduled(text, 1, 1).kernel().throttle);
}

}  // namespace
}  // namespace etc
