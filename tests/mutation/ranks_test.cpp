// Queues of ranks: what stands still where tasks of one queue wait for what a peer is pushed.
#include "analysis/ranks.h"

#include <doctest/doctest.h>

#include <string>

#include "check.h"
#include "draws.h"
#include "oracle.h"

namespace etc::mutation {
namespace {

/// Rows that are scaled, sent to all ranks, and added up. They are pushed in another order on each
/// rank.
std::string Text(const std::string& adds_due, const std::string& adds) {
  return R"(etir 1;
mesh tp = 2;
dim n in 1..4;
device @scale(%x: f32[1, n], %h: out f32[n]) tasks (i: n) { %h[i] = %x[0, i] * 2; }
device @send(%h: f32[n], %slots: out symmetric f32[tp, n]) tasks (i: n, to: tp) {
  %slots@(to)[rank, i] = %h[i];
}
device @add(%slots: f32[tp, n], %y: out f32[n]) tasks (i: n) {
  %y[i] = sum(r: tp) %slots[r, i];
}
kernel @k(%x: f32[1, n], %y: out f32[n]) of @g dynamic {
  launch consumers 8 shared 1024;
  %h = workspace f32[n] at 0;
  %slots = workspace symmetric f32[tp, n] at 0;
  event %scaled[n] count 1 via counter at 0;
  event symmetric %arrived[n] count tp via counter at n;
  trigger %send_due[n] count 1 via counter at 2 * n;
  trigger %add_due[n] count 1 via counter at 3 * n;
  on sm {
    dispatch queue capacity 3 * n ahead 1 at 4 * n {
      case (i: n) {
        arrive %send_due[(i + rank) % n];
        )" +
         adds_due + R"(
        run @scale[i](%x, %h);
        notify %scaled[i];
      }
      case (i: n, to: tp) on %send_due[i] {
        enter { wait peers; }
        wait %scaled[i];
        run @send[i, to](%h, %slots);
        notify %arrived@(to)[i];
      }
      )" +
         adds +
         R"( { wait %arrived[i]; run @add[i](%slots, %y); }
    }
  }
})";
}

/// A trigger that nothing uses is no part of a kernel.
std::string WithoutTrigger(std::string text) {
  const std::string line = "  trigger %add_due[n] count 1 via counter at 3 * n;\n";
  return text.erase(text.find(line), line.size());
}

struct Found {
  bool early;
  bool hangs;     // in some interleaving of a launch of two rows on one SM of each rank
  bool accepted;  // by etc
};

Found Look(const std::string& text) {
  CheckResult check = Check(text, {});
  INFO(check.messages);
  REQUIRE(check.module != nullptr);
  REQUIRE(!check.IllFormed());
  const Module joined = JoinRanks(AtRanks(*check.module, 2), 2, JoinedFor::WholeCalls);
  Env sizes;
  for (SymbolId id : joined.symbols.Ids()) {
    if (joined.symbols[id].kind == SymbolKind::Dim) {
      sizes[id] = 2;
    }
  }
  KernelId kernel = *joined.kernels.Ids().begin();
  auto all = ExploreDraws(MakeConcrete(joined, joined.kernels[kernel], sizes, {}, 2), 1, 200'000);
  REQUIRE(all.has_value());
  Verdict verdict = Judge(*check.module, {{}, 3, 3, 20'000, true});
  CHECK(verdict.judged);
  CHECK(verdict.explored > 0);
  CHECK(verdict.disagreements == 0);
  return {verdict.wrong.contains(Wrong::Early), all->hangs, check.Accepted()};
}

TEST_CASE("ranks whose adds are pushed behind their own sends wait for each other forever") {
  const Found found = Look(Text("arrive %add_due[(i + rank) % n];", "case (i: n) on %add_due[i]"));
  CHECK(found.early);
  CHECK(found.hangs);
  CHECK(!found.accepted);
}

TEST_CASE("so do ranks whose adds are there from the start") {
  const Found found = Look(WithoutTrigger(Text("", "case (i: n)")));
  CHECK(found.early);
  CHECK(found.hangs);
  CHECK(!found.accepted);
}

TEST_CASE(
    "adds in the next dispatch come behind all sends of their rank, and no rank waits forever") {
  const Found found = Look(
      WithoutTrigger(Text("", "}\n    dispatch drain ahead 1 at 7 * n + 8 {\n      case (i: n)")));
  CHECK(!found.early);
  CHECK(!found.hangs);
  CHECK(found.accepted);
}

TEST_CASE("what peers notify from the start may be waited for in the queue") {
  const Found found = Look(R"(etir 1;
mesh tp = 2;
dim n in 1..4;
device @send(%x: f32[1, n], %slots: out symmetric f32[tp, n]) tasks (i: n, to: tp) {
  %slots@(to)[rank, i] = %x[0, i];
}
device @add(%slots: f32[tp, n], %y: out f32[n]) tasks (i: n) {
  %y[i] = sum(r: tp) %slots[r, i];
}
kernel @k(%x: f32[1, n], %y: out f32[n]) of @g dynamic {
  launch consumers 8 shared 1024;
  %slots = workspace symmetric f32[tp, n] at 0;
  event symmetric %arrived[n] count tp via counter at 0;
  trigger %add_due[n] count tp via counter at n;
  on sm {
    dispatch queue capacity n ahead 1 at 2 * n {
      case (i: n, to: tp) {
        arrive %add_due[(i + rank) % n];
        enter { wait peers; }
        run @send[i, to](%x, %slots);
        notify %arrived@(to)[i];
      }
      case (i: n) on %add_due[i] { wait %arrived[i]; run @add[i](%slots, %y); }
    }
  }
})");
  CHECK(!found.early);
  CHECK(!found.hangs);
  CHECK(found.accepted);
}

}  // namespace
}  // namespace etc::mutation
