// Calls in program order, with what stands around them.
#include "analysis/program.h"

#include <doctest/doctest.h>

#include <string>

#include "text/parser.h"

namespace etc {
namespace {

const std::string kText = R"(etir 1;
dim n in 0..8;
device @copy(%x: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i]; }
device @rest(%x: f32[n], %y: inout f32[n]) tasks (i: n - 7) { %y[i] = %x[i]; }
graph @g(%x: f32[n], %y: out f32[n]) specialise (n: 0..4, 5..8) {
  event %a[2] count n;
  event %b[2, n] count 1;
  call @copy(%x, %y) notify (t) => %a[0];
  repeat l in 0..2 {
    region schedule(static) {
      call @rest(%x, %y) wait (t) => %a[0], %b[l, t] notify (u) => %b[l, u];
    }
  }
}
)";

struct Called {
  Called() : source("t.etir", kText), module(Parse(source, diagnostics)) {
    INFO(RenderText(diagnostics, &source));
    REQUIRE(module != nullptr);
    program = MakeCallProgram(*module, module->graphs[GraphId{0}]);
  }

  SourceFile source;
  Diagnostics diagnostics;
  std::unique_ptr<Module> module;
  CallProgram program;
};

TEST_CASE("calls come in program order, with the repeats around them") {
  Called called;
  const std::vector<ProgramCall>& calls = called.program.calls;
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].device->name == "copy");
  CHECK(calls[0].repeats.empty());
  CHECK_FALSE(calls[0].Innermost());
  CHECK(calls[1].device->name == "rest");
  REQUIRE(calls[1].repeats.size() == 1);
  CHECK(calls[1].repeats[0].iterations.hi == 1);
  CHECK(calls[1].segment != calls[0].segment);
  CHECK(CommonRepeats(calls[0], calls[1]) == 0);
  CHECK(called.program.events.size() == 2);
}

TEST_CASE("a repeat is a pair of marks around its calls") {
  Called called;
  using Kind = ProgramMark::Kind;
  std::vector<Kind> kinds;
  for (const ProgramMark& mark : called.program.order) {
    kinds.push_back(mark.kind);
  }
  CHECK(kinds == std::vector{Kind::Call, Kind::Enter, Kind::Call, Kind::Leave});
  CHECK(called.program.order[1].other == 3);
  CHECK(called.program.order[3].other == 1);
}

TEST_CASE("a wait that does not depend on the task comes before its range is read") {
  Called called;
  const std::vector<TaskEdge>& waits = called.program.calls[1].waits;
  REQUIRE(waits.size() == 2);
  CHECK(waits[0].common);
  CHECK_FALSE(waits[1].common);
  CHECK_FALSE(waits[0].entering);  // of a call nothing is said of its SMs
}

TEST_CASE("what a call binds is found by the parameter") {
  Called called;
  const ProgramCall& call = called.program.calls[1];
  REQUIRE(ArgumentOf(call, call.device->params[1]) != nullptr);
  CHECK(ArgumentOf(call, call.device->params[1])->tensor == called.program.params[1]);
  CHECK(ArgumentOf(call, called.program.params[1]) == nullptr);
}

TEST_CASE("whether a call may have tasks is asked for the sizes of the program") {
  Called called;
  std::vector<CallProgram> programs =
      MakeCallPrograms(*called.module, called.module->graphs[GraphId{0}]);
  REQUIRE(programs.size() == 2);
  CHECK_FALSE(MayHaveTasks(*called.module, programs[0], programs[0].calls[1]));
  CHECK(MayHaveTasks(*called.module, programs[1], programs[1].calls[1]));
}

}  // namespace
}  // namespace etc
