#include <doctest/doctest.h>

#include <memory>
#include <set>

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "schedule/lower.h"
#include "schedule/sources.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc {
namespace {

void Schedule(Module& module) {
  Diagnostics diagnostics;
  for (const Pass& pass : StaticPipeline()) {
    REQUIRE(pass.run(module, {}, diagnostics));
    INFO(RenderText(diagnostics, nullptr));
    REQUIRE(Verify(module, diagnostics));
  }
}

std::vector<const Share*> Shares(const Module& module, const std::vector<NodeId>& nodes) {
  std::vector<const Share*> shares;
  for (NodeId id : nodes) {
    if (const auto* share = std::get_if<Share>(&module.nodes[id])) {
      shares.push_back(share);
    } else if (const auto* repeat = std::get_if<Repeat>(&module.nodes[id])) {
      for (const Share* inner : Shares(module, repeat->body)) {
        shares.push_back(inner);
      }
    }
  }
  return shares;
}

int64_t OffsetOf(const Module& module, const Kernel& kernel, const std::string& name,
                 const Env& env) {
  for (NodeId id : kernel.declarations) {
    const auto* buffer = std::get_if<BufferDecl>(&module.nodes[id]);
    if (buffer != nullptr && module.tensors[buffer->tensor].name == name) {
      return EvaluateInt(module, module.tensors[buffer->tensor].offset, env).value();
    }
  }
  FAIL("no buffer of that name");
  return -1;
}

// A chain of four calls joined by full barriers, in a loop; every intermediate is overwritten anew.
constexpr const char* kChain = R"(etir 1;
const layers = 3;
dim n in 1..100;
device @copy(%x: f32[n, 64], %y: out f32[n, 64]) tasks (i: n) {
  for (c: 64) %y[i, c] = %x[i, c];
}
graph @chain(%in: f32[n, 64], %out: out f32[n, 64]) {
  %s = buffer f32[n, 64];
  %a = buffer f32[n, 64];
  %b = buffer f32[n, 64];
  %c = buffer f32[n, 64];
  event %s_done[l: layers + 1] count n;
  event %a_done[l: layers] count n;
  event %b_done[l: layers] count n;
  event %c_done[l: layers] count n;
  call @copy(%in, %s) notify (i) => %s_done[0];
  repeat l in 0..layers {
    call @copy(%s, %a) wait (i) => %s_done[l] notify (i) => %a_done[l];
    call @copy(%a, %b) wait (i) => %a_done[l] notify (i) => %b_done[l];
    call @copy(%b, %c) wait (i) => %b_done[l] notify (i) => %c_done[l];
    call @copy(%c, %s) wait (i) => %c_done[l] notify (i) => %s_done[l + 1];
  }
  call @copy(%s, %out) wait (i) => %s_done[layers];
}
)";

TEST_CASE("each share starts at the SM where the one before it left off") {
  auto module = ParseVerified(kChain);
  Schedule(*module);
  const Kernel& kernel = *module->kernels.begin();
  std::vector<const Share*> shares = Shares(*module, kernel.body);
  REQUIRE(shares.size() == 6);
  SymbolId n, l;
  for (SymbolId id : module->symbols.Ids()) {
    if (module->symbols[id].name == "n") {
      n = id;
    }
  }
  for (NodeId id : kernel.body) {
    if (const auto* repeat = std::get_if<Repeat>(&module->nodes[id])) {
      l = repeat->var;
    }
  }
  auto first = [&](size_t i, int64_t layer) {
    return EvaluateInt(*module, shares[i]->first, {{n, 7}, {l, layer}}).value();
  };
  CHECK(first(0, 0) == 0);
  CHECK(first(1, 0) == 7);
  CHECK(first(4, 0) == 28);
  CHECK(first(1, 1) == 35);
  CHECK(first(4, 2) == 84);
  CHECK(first(5, 0) == 91);
}

TEST_CASE("waits and notifies that do not depend on the task move to the ends of the share") {
  auto module = ParseVerified(kChain);
  Schedule(*module);
  for (const Share* share : Shares(*module, module->kernels.begin()->body)) {
    CHECK(share->waits.empty());
    CHECK(share->notifies.empty());
  }
}

TEST_CASE("waits and notifies that depend on the task stay with it") {
  auto module = ParseVerified(R"(etir 1;
dim n in 1..100;
device @copy(%x: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i]; }
graph @g(%in: f32[n], %out: out f32[n]) {
  %s = buffer f32[n];
  event %done[n] count 1;
  call @copy(%in, %s) notify (i) => %done[i];
  call @copy(%s, %out) wait (i) => %done[i];
}
)");
  Schedule(*module);
  std::vector<const Share*> shares = Shares(*module, module->kernels.begin()->body);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0]->notifies.size() == 1);
  CHECK(shares[0]->leave_notifies.empty());
  CHECK(shares[1]->waits.size() == 1);
  CHECK(shares[1]->enter_waits.empty());
}

TEST_CASE("buffers share memory only where the events keep them apart") {
  auto module = ParseVerified(kChain);
  Schedule(*module);
  const Kernel& kernel = *module->kernels.begin();
  Env env;
  for (SymbolId id : module->symbols.Ids()) {
    if (module->symbols[id].name == "n") {
      env[id] = 5;
    }
  }
  int64_t s = OffsetOf(*module, kernel, "s", env), a = OffsetOf(*module, kernel, "a", env),
          b = OffsetOf(*module, kernel, "b", env), c = OffsetOf(*module, kernel, "c", env);
  CHECK(a == c);  // c is written after the last reader of a, and read before a's next writer
  CHECK(a != b);
  CHECK(b != c);
  CHECK(s != a);  // s carries a value from layer to layer
  CHECK(s != b);
  CHECK(std::abs(a - b) >= 5 * 64 * 4);
}

TEST_CASE("without an event between them, two buffers never share memory") {
  auto module = ParseVerified(R"(etir 1;
dim n in 1..100;
device @copy(%x: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i]; }
graph @g(%in: f32[n], %p: out f32[n], %q: out f32[n]) {
  %a = buffer f32[n];
  %b = buffer f32[n];
  event %a_done[n] count 1;
  event %b_done[n] count 1;
  call @copy(%in, %a) notify (i) => %a_done[i];
  call @copy(%a, %p) wait (i) => %a_done[i];
  call @copy(%in, %b) notify (i) => %b_done[i];
  call @copy(%b, %q) wait (i) => %b_done[i];
}
)");
  Schedule(*module);
  const Kernel& kernel = *module->kernels.begin();
  Env env;
  for (SymbolId id : module->symbols.Ids()) {
    if (module->symbols[id].name == "n") {
      env[id] = 5;
    }
  }
  CHECK(OffsetOf(*module, kernel, "a", env) != OffsetOf(*module, kernel, "b", env));
}

TEST_CASE("a buffer of which an iteration may read the one before shares no memory") {
  auto share = [](const std::string& last) {
    auto module = ParseVerified(R"(etir 1;
device @write(%x: f32[8], %y: out f32[8]) tasks (one: 1) { for (i: )" +
                                last + R"() %y[i] = %x[i]; }
device @copy(%x: f32[8], %y: out f32[8]) tasks (one: 1) { for (i: 8) %y[i] = %x[i]; }
graph @g(%in: f32[8], %p: out f32[3, 8], %q: out f32[3, 8]) schedule(kernels) {
  %a = buffer f32[8];
  %b = buffer f32[8];
  repeat l in 0..3 {
    call @copy(%in, %a);
    call @copy(%a, %p[l]);
    call @write(%in, %b);
    call @copy(%b, %q[l]);
  }
}
)");
    Schedule(*module);
    const Kernel& kernel = *module->kernels.begin();
    return OffsetOf(*module, kernel, "a", {}) == OffsetOf(*module, kernel, "b", {});
  };
  CHECK(share("8"));
  CHECK_FALSE(share("7"));
}

TEST_CASE("a specialised graph becomes one kernel for each range") {
  auto module = ParseVerified(R"(etir 1;
dim n in 1..100;
device @copy(%x: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i]; }
graph @g(%in: f32[n], %out: out f32[n]) specialise (n: 1..8, 9..100) {
  call @copy(%in, %out);
}
)");
  Schedule(*module);
  REQUIRE(module->kernels.size() == 2);
  CHECK(module->kernels[KernelId{0}].name == "g__n_1_8");
  CHECK(module->kernels[KernelId{1}].name == "g__n_9_100");
  CHECK(module->kernels[KernelId{1}].graph == "g");
}

TEST_CASE("buffers of one name in two blocks stay apart") {
  auto module = ParseVerified(R"(etir 1;
dim n in 1..100;
device @copy(%x: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i]; }
graph @g(%in: f32[n], %p: out f32[n], %q: out f32[n]) {
  event %done[k: 2, i: n] count 1;
  repeat l in 0..1 {
    %s = buffer f32[n];
    call @copy(%in, %s) notify (i) => %done[0, i];
    call @copy(%s, %p) wait (i) => %done[0, i];
  }
  repeat l in 0..1 {
    %s = buffer f32[n];
    call @copy(%in, %s) notify (i) => %done[1, i];
    call @copy(%s, %q) wait (i) => %done[1, i];
  }
}
)");
  Schedule(*module);
  std::set<std::string> names;
  size_t buffers = 0;
  for (NodeId id : module->kernels.begin()->declarations) {
    if (const auto* buffer = std::get_if<BufferDecl>(&module->nodes[id])) {
      names.insert(module->tensors[buffer->tensor].name);
      ++buffers;
    }
  }
  CHECK(buffers == 2);
  CHECK(names.size() == 2);
}

TEST_CASE("the scheduled module prints as text that parses to the same module") {
  auto module = ParseVerified(kChain);
  Schedule(*module);
  std::string text = Print(*module);
  SourceFile source("scheduled.etir", text);
  Diagnostics diagnostics;
  auto again = Parse(source, diagnostics);
  INFO(RenderText(diagnostics, &source));
  REQUIRE(again);
  CHECK(Verify(*again, diagnostics));
  CHECK(Print(*again) == text);
}

}  // namespace
}  // namespace etc
