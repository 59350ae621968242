// What is found ahead is what is found when it is asked for.
#include "schedule/range_dependences.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "schedule/sources.h"

namespace etc {
namespace {

// The second call reads the first one's rows, the third what both have written, the fourth the
// rows of the first through no other.
const std::string kChain = R"(etir 1;
dim n in 1..64;
const few = upper(n) <= 8;
device @rows(%x: f32[n, 4], %y: out f32[n, 4]) tasks (i: n) {
  for (k: 4) %y[i, k] = 0.5 * %x[i, k];
}
device @blend(%x: f32[n, 4], %w: f32[n, 4], %y: out f32[n, 4]) tasks (i: n) {
  for (k: 4) %y[i, k] = %x[i, k] + select(few, %w[i, 0], sum(m: 4) %w[i, m]);
}
device @some(%x: f32[n, 4], %y: out f32[n, 4]) tasks (i: n) {
  for (k: 4) %y[i, k] = %x[max(i - 1, 0), k];
}
graph @g(%in: f32[n, 4], %out: out f32[n, 4], %other: out f32[n, 4]) specialise (n: 1..8, 9..64) {
  %a = buffer f32[n, 4];
  %b = buffer f32[n, 4];
  call @rows(%in, %a);
  call @rows(%a, %b);
  call @blend(%a, %b, %out);
  call @some(%a, %other);
}
)";

TEST_CASE("what follows from a chain of calls is left out") {
  auto module = ParseVerified(kChain);
  std::vector<CallProgram> programs =
      MakeCallPrograms(*module, module->graphs[module->graphs.Ids().front()]);
  REQUIRE(programs.size() == 2);
  for (const CallProgram& program : programs) {
    DependenceGraph graph(*module, program);
    graph.FindAll();
    CHECK(graph.Exists({0, 2, 0}));
    CHECK(graph.Unchained() == std::vector<Dependence>{{0, 1, 0}, {1, 2, 0}, {0, 3, 0}});
  }
}

TEST_CASE("answers that were found ahead are those of a graph that is asked at once") {
  auto module = ParseVerified(kChain);
  std::vector<CallProgram> programs =
      MakeCallPrograms(*module, module->graphs[module->graphs.Ids().front()]);
  for (bool coarse : {false, true}) {
    RangeDependences plain(*module, programs);
    RangeDependences ahead(*module, programs, std::vector<bool>(4, coarse), false);
    for (const ProgramCall& from : programs.front().calls) {
      for (const ProgramCall& to : programs.front().calls) {
        for (const Dependence& each : DependencesBetween(from, to)) {
          REQUIRE(plain.Exists(each) == ahead.Exists(each));
          CHECK(plain.IsOrdered(each) == ahead.IsOrdered(each));
          if (!plain.Exists(each)) {
            continue;
          }
          const std::vector<Needs> needs = plain.NeedsOf(each, {}, coarse);
          CHECK(!needs.empty());
          CHECK(needs == ahead.NeedsOf(each, {}, coarse));
          CHECK(needs == ahead.NeedsOf(each, {}, coarse));
          CHECK(plain.NeedsInData(each, {}) == ahead.NeedsInData(each, {}));
          CHECK(plain.CauseOf(each).tensor == ahead.CauseOf(each).tensor);
        }
      }
    }
  }
}

}  // namespace
}  // namespace etc
