// The oracle knows what is wrong with programs of which one can see it.
#include "oracle.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "check.h"
#include "machine.h"

namespace etc::mutation {
namespace {

constexpr const char* kCopy = R"(etir 1;
dim n in 1..20;
device @copy(%x: f32[n], %y: out f32[n]) tasks (t: ceildiv(n, 4)) {
  for (i: t * 4 .. min(n, t * 4 + 4)) %y[i] = %x[i];
}
)";

Verdict JudgeText(const std::string& text) {
  CheckResult check = Check(text, {});
  INFO(check.messages);
  REQUIRE(check.module != nullptr);
  Verdict verdict = Judge(*check.module, {{}, 13, 26, 2000, true});
  CHECK(verdict.judged);
  CHECK((verdict.explored > 0 || verdict.wrong.contains(Wrong::OutOfBounds)));
  CHECK(verdict.disagreements == 0);
  return verdict;
}

std::vector<Wrong> WrongWith(const std::string& text) {
  std::vector<Wrong> wrong;
  for (const auto& [what, detail] : JudgeText(text).wrong) {
    wrong.push_back(what);
  }
  return wrong;
}

std::string TwoCopies(const std::string& event, const std::string& notify,
                      const std::string& wait) {
  return std::string(kCopy) +
         "graph @g(%x: f32[n], %y: out f32[n]) { %b = buffer f32[n]; event %e" + event +
         "; call @copy(%x, %b) notify (t) => %e" + notify + "; call @copy(%b, %y) wait (t) => %e" +
         wait + "; }";
}

using Found = std::vector<Wrong>;

TEST_CASE("right programs") {
  CHECK(WrongWith(TwoCopies("[ceildiv(n, 4)] count 1", "[t]", "[t]")).empty());
  CHECK(WrongWith(TwoCopies("[ceildiv(n, 4)] count 1", "[t]", "[*]")).empty());
  CHECK(WrongWith(TwoCopies(" count ceildiv(n, 4)", "", "")).empty());
}

TEST_CASE("a wait that misses a task is a race") {
  CHECK(WrongWith(TwoCopies("[ceildiv(n, 4)] count 1", "[t]", "[t] if t != 2")) ==
        Found{Wrong::Race});
  CHECK(WrongWith(TwoCopies("[ceildiv(n, 4)] count 1", "[t]", "[0]")) == Found{Wrong::Race});
}

TEST_CASE("a count that is too large never completes") {
  CHECK(WrongWith(TwoCopies(" count n / 4 + 1", "", "")) == Found{Wrong::Hang, Wrong::Count});
}

TEST_CASE("a count that is too small completes too early") {
  // With two tasks the count is 1, and either notify completes it.
  CHECK(WrongWith(TwoCopies(" count max(1, n / 4)", "", "")) == Found{Wrong::Race, Wrong::Count});
}

TEST_CASE("a count that is wrong without harm breaks a rule only") {
  std::string text = std::string(kCopy) + R"(
graph @g(%x: f32[n], %y: out f32[n]) { event %e count 1; call @copy(%x, %y) notify (t) => %e; })";
  CHECK(WrongWith(text) == Found{Wrong::Count});
}

TEST_CASE("an index outside of a tensor, an event, a local array and a slice") {
  std::string graph = "graph @g(%x: f32[n], %y: out f32[n]) { call @f(%x, %y); }";
  std::string head = "etir 1; dim n in 1..9; device @f(%x: f32[n], %y: out f32[n]) tasks (t: n) ";
  CHECK(WrongWith(head + "{ %y[t] = %x[t + 1]; }" + graph) == Found{Wrong::OutOfBounds});
  CHECK(WrongWith(head + "{ local %s: f32[4]; %s[t] = %x[t]; %y[t] = %s[t]; }" + graph) ==
        Found{Wrong::OutOfBounds});
  CHECK(WrongWith(head + "{ %y[t] = select(t > 0, %x[max(t, 1) - 1], %x[t]); }" + graph).empty());
  CHECK(WrongWith(TwoCopies("[ceildiv(n, 4)] count 1", "[t]", "[t + 1]")) ==
        Found{Wrong::OutOfBounds});
  CHECK(WrongWith("etir 1; dim n in 1..9; device @f(%x: f32[2], %y: out f32[2]) tasks (t: 2) "
                  "{ %y[t] = %x[t]; } graph @g(%x: f32[n, 2], %y: out f32[2]) "
                  "{ call @f(%x[3], %y); }") == Found{Wrong::OutOfBounds});
}

TEST_CASE("a wait for what a later call notifies hangs where one SM runs both") {
  std::string text = std::string(kCopy) + R"(
graph @g(%x: f32[n], %y: out f32[n], %z: out f32[n]) {
  event %e count ceildiv(n, 4);
  call @copy(%x, %y) wait (t) => %e;
  call @copy(%x, %z) notify (t) => %e;
})";
  auto wrong = JudgeText(text).wrong;
  REQUIRE(wrong.contains(Wrong::Hang));
  CHECK(wrong.at(Wrong::Hang).find("sms = 1") != std::string::npos);
}

TEST_CASE("memory that is written again before its reader is done is a race") {
  std::string text = std::string(kCopy) + R"(
graph @g(%x: f32[n], %y: out f32[n]) {
  %b = buffer f32[n];
  event %e[ceildiv(n, 4)] count 1;
  call @copy(%x, %b) notify (t) => %e[t];
  call @copy(%b, %y) wait (t) => %e[t];
  call @copy(%x, %b) wait (t) => %e[t];
})";
  CHECK(WrongWith(text) == Found{Wrong::Race});
}

TEST_CASE("what no task has written is undefined") {
  std::string text = R"(etir 1;
dim n in 2..9;
device @most(%x: f32[n], %y: out f32[n]) tasks (t: n - 1) { %y[t] = %x[t]; }
device @all(%x: f32[n], %y: out f32[n]) tasks (t: n) { %y[t] = %x[t]; }
graph @g(%x: f32[n], %y: out f32[n]) {
  %b = buffer f32[n];
  event %e count n - 1;
  call @most(%x, %b) notify (t) => %e;
  call @all(%b, %y) wait (t) => %e;
})";
  CHECK(WrongWith(text) == Found{Wrong::Undefined});
}

TEST_CASE("scattered writes meet unless the indices are distinct") {
  std::string head =
      "etir 1; dim n in 2..9; device @f(%x: f32[n], %to: i32[n], %y: inout f32[n]) "
      "tasks (t: n) { %y[%to[t]] = %x[t]; } graph @g(%x: f32[n], %to: i32[n] in 0..n";
  std::string tail = ", %y: inout f32[n]) { call @f(%x, %to, %y); }";
  CHECK(WrongWith(head + tail) == Found{Wrong::Race});
  CHECK(WrongWith(head + " distinct" + tail).empty());
}

/// Tokens that a launch sorts into groups; the tasks of a group are as many as its tokens.
std::string Grouped(const std::string& begin_wait, const std::string& count) {
  return R"(etir 1;
dim n in 1..6;
device @count(%to: i32[n], %begin: out i32[4], %tokens: out i32[3]) tasks (one: 1) {
  for (g: 4) %begin[g] = sum(h: g, i: n) select(%to[i] == h, 1, 0);
  for (g: 3) %tokens[g] = sum(i: n) select(%to[i] == g, 1, 0);
}
device @work(%begin: i32[4] in 0..n + 1 monotone, %y: out f32[n])
    tasks (g: 3, t: %begin[g] .. %begin[g + 1]) { %y[t] = 1.0; }
device @total(%y: f32[n], %z: out f32[3]) tasks (g: 3) { %z[g] = sum(i: n) %y[i]; }
graph @g(%to: i32[n] in 0..3, %z: out f32[3]) {
  %begin = buffer i32[4];
  %tokens = buffer i32[3];
  %y = buffer f32[n];
  event %counted count 1;
  event %done[g: 3] count )" +
         count + R"(;
  call @count(%to, %begin, %tokens) notify (one) => %counted;
  call @work(%begin, %y) wait (g, t) => )" +
         begin_wait + R"( notify (g, t) => %done[g];
  call @total(%y, %z) wait (g) => %counted, %done[*];
})";
}

TEST_CASE("ranges and counts that the launch computes") {
  CHECK(WrongWith(Grouped("%counted", "%begin[g + 1] - %begin[g]")).empty());
  CHECK(WrongWith(Grouped("%counted", "%tokens[g]")).empty());
  CHECK(WrongWith(Grouped("%counted", "%tokens[g] + 1")) == Found{Wrong::Hang, Wrong::Count});
  CHECK(WrongWith(Grouped("%counted", "%tokens[2 - g]")) == Found{Wrong::Hang, Wrong::Count});
}

TEST_CASE("a range that is read before it is written is a race") {
  // The wait depends on the task, so it comes after the range.
  auto verdict = JudgeText(Grouped("%counted if g >= 0", "%tokens[g]"));
  REQUIRE(verdict.wrong.contains(Wrong::Race));
  CHECK(verdict.racing.contains({"begin", "@count", "@work"}));
}

TEST_CASE("what a device function asks of computed data is assumed") {
  std::string head =
      "etir 1; dim n in 2..9; device @put(%to: out i32[n]) tasks (t: n) "
      "{ %to[t] = ";
  std::string tail = R"(; }
device @f(%to: i32[n] in 0..n distinct, %y: inout f32[n]) tasks (t: n) { %y[%to[t]] = 1.0; }
graph @g(%y: inout f32[n]) {
  %to = buffer i32[n];
  event %put count n;
  call @put(%to) notify (t) => %put;
  call @f(%to, %y) wait (t) => %put;
})";
  CHECK(WrongWith(head + "n - 1 - t" + tail).empty());
  CheckResult check = Check(head + "t / 2" + tail, {});
  REQUIRE(check.module != nullptr);
  CHECK_FALSE(Judge(*check.module, {{}, 13, 26, 0, true}).judged);
}

TEST_CASE("where data choose the element, each choice is possible") {
  std::string text = R"(etir 1;
dim n in 1..5;
device @route(%x: f32[n, 3], %which: out i32[n], %tokens: out i32[3]) tasks (one: 1) {
  for (i: n) {
    local %best: f32[1];
    (%best[s], %which[i + s]) = topk(s: 1; e: 3) %x[i, e];
  }
  for (e: 3) %tokens[e] = 0;
}
device @send(%x: f32[n, 3], %which: i32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i, 0]; }
device @take(%y: f32[n], %z: out f32[3]) tasks (e: 3) { %z[e] = sum(i: n) %y[i]; }
graph @g(%x: f32[n, 3], %z: out f32[3]) {
  %which = buffer i32[n];
  %tokens = buffer i32[3];
  %y = buffer f32[n];
  event %routed count 1;
  event %sent[e: 3] count %tokens[e];
  call @route(%x, %which, %tokens) notify (one) => %routed;
  call @send(%x, %which, %y) wait (i) => %routed notify (i) => %sent[%which[i]];
  call @take(%y, %z) wait (e) => %routed, %sent[e];
})";
  // No element waits for the tokens that come to it.
  CHECK(WrongWith(text) == Found{Wrong::Race, Wrong::Count});
}

std::string KernelText(const std::string& offset, const std::string& enter) {
  return R"(etir 1;
dim n in 1..8;
device @copy(%x: f32[n], %y: out f32[n]) tasks (t: n) { %y[t] = %x[t]; }
graph @g(%x: f32[n], %y: out f32[n]) { call @copy(%x, %y); }
kernel @k(%x: f32[n], %y: out f32[n]) of @g static where (n in 1..8) {
  launch consumers 8 shared 0;
  %a = workspace f32[n] at 0;
  %b = workspace f32[n] at )" +
         offset + R"(;
  event %first count n via counter;
  event %second count n via counter;
  on sm {
    share (t: n) from 0 { run @copy[t](%x, %a); leave { notify %first; } }
    share (t: n) from n { enter { )" +
         enter + R"( } run @copy[t](%a, %b); leave { notify %second; } }
    share (t: n) from 2 * n { enter { wait %second; } run @copy[t](%b, %y); }
  }
})";
}

TEST_CASE("kernels: hoisted waits and notifies, and places in the workspace") {
  CHECK(WrongWith(KernelText("32", "wait %first;")).empty());
  CHECK(WrongWith(KernelText("28", "wait %first;")) ==
        Found{Wrong::Overwritten, Wrong::Race});  // n = 8 overlaps
  CHECK(WrongWith(KernelText("32", "")) == Found{Wrong::Race});
}

/// A dispatch of two cases, in this order.
std::vector<Wrong> WrongInDispatch(const std::string& first, const std::string& second) {
  return WrongWith(std::string(kCopy) + R"(
kernel @k(%x: f32[n], %y: out f32[n]) of @g dynamic {
  launch consumers 8 shared 1024;
  %b = workspace f32[n] at 0;
  event %row[ceildiv(n, 4)] count 1 via counter at 0;
  event %all count ceildiv(n, 4) via counter at ceildiv(n, 4);
  on sm {
    dispatch drain ahead 1 at ceildiv(n, 4) + 1 {
      case (t: ceildiv(n, 4)) { )" +
                   first + R"( }
      case (t: ceildiv(n, 4)) { )" +
                   second + R"( }
    }
  }
})");
}

TEST_CASE("whoever draws the tasks of cases, the events put them in order") {
  const std::string write = "run @copy[t](%x, %b); notify %row[t]; leave { notify %all; }";
  const std::string read = "run @copy[t](%b, %y);";
  CHECK(WrongInDispatch(write, "wait %row[t]; " + read).empty());
  CHECK(WrongInDispatch(write, "enter { wait %all; } " + read).empty());
  CHECK(WrongInDispatch(write, read) == Found{Wrong::Race});
  CHECK(WrongInDispatch(write, "wait %row[0]; " + read) == Found{Wrong::Race});
  CHECK(WrongInDispatch("wait %row[t]; " + read, write) ==
        Found{Wrong::Hang, Wrong::Race, Wrong::Undefined});
}

/// One task over `%x`, `%y` and their sizes.
std::vector<Wrong> WrongInBody(const std::string& body) {
  return WrongWith(R"(etir 1;
dim n in 1..6;
device @f(%x: f32[n], %p: i32[n] in 0..n, %y: inout f32[n], %v: inout f32[4], %i: inout i32[4])
    tasks (one: 1) { )" +
                   body + R"( }
graph @g(%x: f32[n], %p: i32[n] in 0..n, %y: inout f32[n], %v: inout f32[4], %i: inout i32[4]) {
  call @f(%x, %p, %y, %v, %i);
})");
}

TEST_CASE("iterations of a loop that touch an element, one of them writing") {
  CHECK(WrongInBody("for (i: n) %y[i] = %y[i] + %x[i];").empty());
  CHECK(WrongInBody("for (i: n) %y[n - 1 - i] = %x[i]; for (i: 1..n) %y[i] = %x[i - 1];").empty());
  CHECK(WrongInBody("for (i: n) { local %s: f32[1]; %s[0] = %x[i]; %y[i] = %s[0]; }").empty());
  CHECK(WrongInBody("for (i: 2, j: 2) %v[i * 2 + j] = %x[0];").empty());
  CHECK(WrongInBody("(%v[s], %i[s]) = topk(s: 1; e: 4) %v[e];").empty());
  for (const char* body :
       {"for (i: 1..n) %y[i] = %y[i - 1];", "for (i: n) %y[0] = %x[i];",
        "for (i: n) %y[%p[i]] = %x[i];", "for (i: n) for (j: 2) %y[i] = %y[i] + %x[i];",
        "for (i: 2, j: 2) %v[i + j] = %x[0];",
        "local %s: f32[1]; for (i: n) { %s[0] = %x[i]; %y[i] = %s[0]; }",
        "(%v[s], %i[s]) = topk(s: 4; e: 4) %v[e];", "(%v[0], %i[s]) = topk(s: 4; e: 4) %x[0];"}) {
    INFO(body);
    std::vector<Wrong> wrong = WrongInBody(body);
    CHECK(std::count(wrong.begin(), wrong.end(), Wrong::Iterations) == 1);
  }
}

TEST_CASE("elements of locals and `out` parameters that the task has not written") {
  CHECK(
      WrongInBody("local %s: f32[6]; for (i: n) %s[i] = %x[i]; for (i: n) %y[i] = %s[i];").empty());
  CHECK(WrongInBody("local %s: f32[6]; %s[0] = 1.0; scan (i: 1..n) %s[i] = %s[i - 1];").empty());
  for (const char* body :
       {"local %s: f32[6]; for (i: n - 1) %s[i] = %x[i]; for (i: n) %y[i] = %s[i];",
        "local %s: f32[6]; %s[1] = 1.0; scan (i: n) %s[i] += 1.0;",
        "for (i: n) { local %s: f32[2]; %s[i % 2] = %x[i]; %y[i] = %s[0]; }"}) {
    INFO(body);
    CHECK(WrongInBody(body) == Found{Wrong::Undefined});
  }
  CHECK(WrongWith("etir 1; dim n in 2..6; device @f(%x: f32[n], %y: out f32[n]) tasks (one: 1) "
                  "{ %y[0] = %x[0]; for (i: n) %y[i] += %x[i]; } "
                  "graph @g(%x: f32[n], %y: out f32[n]) { call @f(%x, %y); }") ==
        Found{Wrong::Undefined});
  CHECK(WrongWith("etir 1; dim n in 2..6; device @f(%x: f32[n], %y: inout f32[n]) tasks (i: n) "
                  "{ %y[i] += %x[i]; } device @h(%x: f32[n], %y: out f32[n]) tasks (i: n - 1) "
                  "{ %y[i] = %x[i]; } graph @g(%x: f32[n], %y: out f32[n]) "
                  "{ event %e count n - 1; call @h(%x, %y) notify (i) => %e; "
                  "call @f(%x, %y) wait (i) => %e; }") == Found{Wrong::Undefined});
}

TEST_CASE("of three notifies any two complete a count of two") {
  ConcreteProgram program;
  program.needed = {2};
  program.element_names = {"%e"};
  for (size_t t = 0; t < 4; ++t) {
    program.tasks.emplace_back();
    program.steps.push_back({t, t + 1, 1, 0, {}, {}});
    (t < 3 ? program.tasks[t].notifies : program.tasks[t].waits).push_back({0, 1});
  }
  Machine machine(program, Machine::kOwnSm);
  auto all = machine.Explore(10000);
  REQUIRE(all.has_value());
  CHECK_FALSE(machine.FindHang().has_value());
  CHECK_FALSE(all->hangs);
  for (size_t t = 0; t < 3; ++t) {
    CHECK(machine.StartBeforeEndOf(t)[3]);
    CHECK(machine.StartBeforeEndOf(t) == all->starts_before_end[t]);
  }
  program.needed = {3};
  CHECK_FALSE(machine.StartBeforeEndOf(0)[3]);
}

}  // namespace
}  // namespace etc::mutation
