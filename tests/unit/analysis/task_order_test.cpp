// Which tasks come after which others: all tasks of calls, and pairs.
#include "analysis/order/task_order.h"

#include <doctest/doctest.h>

#include <string>

#include "text/parser.h"
#include "verify/verify.h"

namespace etc {
namespace {

/// A step of four layers of two calls, `first` and `second`, between two more calls.
std::string Layers(const std::string& events, const std::string& first, const std::string& second) {
  return R"(etir 1;
dim n in 1..8;
device @copy(%x: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i]; }
device @most(%x: f32[n], %y: inout f32[n]) tasks (i: n - 1) { %y[i] = %x[i]; }
graph @g(%x: f32[n], %y: out f32[n]) {
  %a = buffer f32[n];
  %b = buffer f32[n];
  event %ready[5] count n;
)" + events +
         R"(
  call @copy(%x, %a) notify (i) => %ready[0];
  repeat l in 0..4 {
    call )" +
         first + " call " + second + R"(
  }
  call @copy(%a, %y) wait (i) => %ready[4];
}
)";
}

const std::string kSecond = "@copy(%b, %a) wait (i) => %half[l] notify (i) => %ready[l + 1];";

struct Program {
  explicit Program(const std::string& text)
      : source("t.etir", text),
        module(Parse(source, diagnostics)),
        program(MakeCallProgram(*module, module->graphs[GraphId{0}])),
        unknowns(*module, program, context),
        relations(MakeEventRelations(unknowns)),
        order(unknowns, relations, {program.events.begin(), program.events.end()}) {}

  bool Orders(size_t x, size_t y) { return order.OrdersAll(program.calls[x], program.calls[y]); }
  bool OrdersIterations(size_t x, size_t y) {
    return order.OrdersIterations(program.calls[x], program.calls[y]);
  }

  /// Tasks of two calls in layers, written with `l`, `i` and `m`, `j` for the layer and coordinate.
  Map Pairs(const std::string& where) const {
    std::string text =
        "[n] -> { [l, i] -> [m, j] : 1 <= n <= 8 and 0 <= l < 4 and 0 <= m < 4 and "
        "0 <= i < n and 0 <= j < n and " +
        where + " }";
    return Map(isl_map_read_from_str(context.get(), text.c_str()));
  }

  SourceFile source;
  Diagnostics diagnostics;
  std::unique_ptr<Module> module;
  CallProgram program;
  IslContext context;
  Unknowns unknowns;
  EventRelations relations;
  TaskOrder order;
};

TEST_CASE("events between whole calls order all of them") {
  Program program(Layers("event %half[4] count n;",
                         "@copy(%a, %b) wait (i) => %ready[l] notify (i) => %half[l];", kSecond));
  for (size_t x = 0; x < 4; ++x) {
    for (size_t y = x + 1; y < 4; ++y) {
      CAPTURE(x);
      CAPTURE(y);
      CHECK(program.Orders(x, y));
    }
  }
  for (size_t x : {1, 2}) {
    for (size_t y : {1, 2}) {
      CHECK(program.OrdersIterations(x, y));
    }
  }
}

TEST_CASE("an event of each task orders no other tasks") {
  Program program(Layers("event %half[l: 4, i: n] count 1;",
                         "@copy(%a, %b) wait (i) => %ready[l] notify (i) => %half[l, i];",
                         "@copy(%b, %a) wait (i) => %half[l, i] notify (i) => %ready[l + 1];"));
  CHECK_FALSE(program.Orders(1, 2));
  CHECK_FALSE(program.Orders(0, 2));
}

TEST_CASE("nothing comes after what a call without tasks would wait for") {
  Program program(Layers("event %half[4] count n - 1;",
                         "@most(%a, %b) wait (i) => %ready[l] notify (i) => %half[l];", kSecond));
  CHECK_FALSE(program.Orders(0, 2));
  CHECK_FALSE(program.Orders(0, 3));
  CHECK_FALSE(program.OrdersIterations(2, 2));
}

TEST_CASE("a wait that is missing at one size orders nothing") {
  Program program(Layers("event %half[4] count n;",
                         "@copy(%a, %b) wait (i) => %ready[l] if n < 8 notify (i) => %half[l];",
                         kSecond));
  CHECK_FALSE(program.Orders(0, 1));
  CHECK_FALSE(program.OrdersIterations(2, 1));
}

/// Layers of which each task hands on to the task of its own coordinate.
const std::string kHalfByTask = "event %half[l: 4, i: n] count 1;";
const std::string kFirstByTask = "@copy(%a, %b) wait (i) => %ready[l] notify (i) => %half[l, i];";
const std::string kSecondByTask =
    "@copy(%b, %a) wait (i) => %half[l, i] notify (i) => %ready[l + 1];";

TEST_CASE("single events order pairs of tasks, and chains order more of them") {
  Program program(Layers(kHalfByTask, kFirstByTask, kSecondByTask));
  CHECK(program.order.OrdersDirectly(1, 2, program.Pairs("m = l and j = i")));
  CHECK(program.order.Orders(1, 2, program.Pairs("m = l and j = i")));
  CHECK_FALSE(program.order.Orders(1, 2, program.Pairs("m = l and j = i + 1")));
  CHECK_FALSE(program.order.OrdersDirectly(1, 2, program.Pairs("m > l")));
  CHECK(program.order.Orders(1, 2, program.Pairs("m > l")));
  CHECK_FALSE(program.order.Orders(2, 1, program.Pairs("m = l")));
}

TEST_CASE("what is in no order is so many iterations apart") {
  Program program(Layers(kHalfByTask, kFirstByTask, kSecondByTask));
  CHECK(program.order.LeastOpenDistance(1, 2, program.Pairs("m >= l"), 0) == 0);
  CHECK_FALSE(program.order.LeastOpenDistance(1, 2, program.Pairs("m > l"), 0));
}

TEST_CASE("the order is that of the events that count") {
  Program program(Layers(kHalfByTask, kFirstByTask, kSecondByTask));
  const ProgramCall& second = program.program.calls[2];
  Map same = program.Pairs("m = l and j = i");
  CHECK(program.order.OrdersThrough(1, second, same, [](size_t) { return true; }));
  CHECK_FALSE(program.order.OrdersThrough(1, second, same, [](size_t) { return false; }));
  TaskOrder none(program.unknowns, program.relations, {});
  CHECK_FALSE(none.Orders(1, 2, same));
  TaskOrder all(program.unknowns);
  CHECK(all.Orders(1, 2, same));
  all.Leave({second.waits[0].ref});
  CHECK_FALSE(all.Orders(1, 2, same));
  all.Leave({});
  CHECK(all.Orders(1, 2, same));
}

}  // namespace
}  // namespace etc
