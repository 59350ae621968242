// The oracle knows what is wrong with queues of which one can see it.
#include <doctest/doctest.h>

#include <algorithm>

#include "check.h"
#include "oracle.h"

namespace etc::mutation {
namespace {

using Found = std::vector<Wrong>;

std::vector<Wrong> WrongIn(const std::string& source, const JudgeOptions& options) {
  CheckResult check = Check(source, {});
  INFO(check.messages);
  REQUIRE(check.module != nullptr);
  Verdict verdict = Judge(*check.module, options);
  CHECK(verdict.judged);
  CHECK(verdict.explored > 0);
  CHECK(verdict.disagreements == 0);
  std::vector<Wrong> wrong;
  for (const auto& [what, detail] : verdict.wrong) {
    wrong.push_back(what);
  }
  return wrong;
}

/// Three copies in a row: the first is there from the start, the others are pushed.
struct Text {
  std::string capacity = "2 * ceildiv(n, 4)";
  std::string second_count = "1";
  std::string first_arrives = "arrive %second[t];";
  std::string second_arrives = "arrive %third[t];";
  std::string third_wait = "wait %b_row[t];";
};

std::vector<Wrong> WrongIn(const Text& text) {
  return WrongIn(R"(etir 1;
dim n in 1..20;
device @copy(%x: f32[n], %y: out f32[n]) tasks (t: ceildiv(n, 4)) {
  for (i: t * 4 .. min(n, t * 4 + 4)) %y[i] = %x[i];
}
kernel @k(%x: f32[n], %y: out f32[n]) of @g dynamic {
  launch consumers 8 shared 1024;
  %a = workspace f32[n] at 0;
  %b = workspace f32[n] at 256;
  event %a_row[ceildiv(n, 4)] count 1 via counter at 0;
  event %b_row[ceildiv(n, 4)] count 1 via counter at ceildiv(n, 4);
  trigger %second[ceildiv(n, 4)] count )" +
                     text.second_count + R"( via counter at 2 * ceildiv(n, 4);
  trigger %third[ceildiv(n, 4)] count 1 via counter at 3 * ceildiv(n, 4);
  on sm {
    dispatch queue capacity )" +
                     text.capacity +
                     R"( ahead 1 at 4 * ceildiv(n, 4) {
      case (t: ceildiv(n, 4)) { )" +
                     text.first_arrives + R"( run @copy[t](%x, %a); notify %a_row[t]; }
      case (t: ceildiv(n, 4)) on %second[t] {
        )" + text.second_arrives +
                     R"(
        wait %a_row[t];
        run @copy[t](%a, %b);
        notify %b_row[t];
      }
      case (t: ceildiv(n, 4)) on %third[t] { )" +
                     text.third_wait + R"( run @copy[t](%b, %y); }
    }
  }
})",
                 {{}, 13, 26, 20'000, true});
}

TEST_CASE("a right queue") { CHECK(WrongIn({}).empty()); }

TEST_CASE("a queue with too few places") {
  Text text;
  text.capacity = "2 * ceildiv(n, 4) - 1";
  CHECK(WrongIn(text) == Found{Wrong::Overflow});
}

TEST_CASE("an arrival that is missing leaves tasks where they are") {
  Text text;  // where there are several, whichever comes first pushes what stands at 0
  text.second_arrives = "arrive %third[0];";
  CHECK(WrongIn(text) == Found{Wrong::Hang, Wrong::Count, Wrong::Early});
}

TEST_CASE("a trigger that counts too much is never complete") {
  Text text;
  text.second_count = "2";
  CHECK(WrongIn(text) == Found{Wrong::Hang, Wrong::Count});
}

TEST_CASE("a task that is pushed by others than those that it waits for may come too early") {
  Text text;
  text.first_arrives = "arrive %second[t]; arrive %third[t];";
  text.second_arrives = "";
  CHECK(WrongIn(text) == Found{Wrong::Early});
}

TEST_CASE("whatever pushes a task, events put it in order") {
  Text text;
  text.third_wait = "";
  CHECK(WrongIn(text) == Found{Wrong::Race});
}

/// Marks, parts and totals: data say how many parts the mark in front of them pushes.
struct DataText {
  std::string capacity = "n + n";
  std::string mark_arrives = "arrive %part_due[g];";
  std::string part_pushed = "pushed { arrive %total_due; }";
  std::string total_count = "2";
};

std::vector<Wrong> WrongIn(const DataText& text) {
  return WrongIn(R"(etir 1;
dim n in 1..3;
device @mark(%x: f32[2], %y: out f32[2]) tasks (g: 2) { %y[g] = %x[g]; }
device @part(%x: f32[2], %begin: i32[3] in 0..n + 1 monotone, %y: out f32[n])
    tasks (g: 2, t: %begin[g] .. %begin[g + 1]) { %y[t] = %x[g]; }
device @total(%x: f32[2], %z: out f32[n]) tasks (i: n) { %z[i] = %x[0] + %x[1]; }
kernel @k(%x: f32[2], %begin: i32[3] in 0..n + 1 monotone, %y: out f32[n], %z: out f32[n]) of @g dynamic {
  launch consumers 8 shared 1024;
  %a = workspace f32[2] at 0;
  event %marked[2] count 1 via counter at 0;
  trigger %part_due[2] count 1 via counter at 2;
  trigger %total_due count )" +
                     text.total_count +
                     R"( via counter at 4;
  on sm {
    dispatch queue capacity )" +
                     text.capacity +
                     R"( ahead 1 at 5 {
      case (g: 2) { )" +
                     text.mark_arrives +
                     R"( run @mark[g](%x, %a); notify %marked[g]; }
      case (g: 2, t: %begin[g] .. %begin[g + 1]) on %part_due[g] { )" +
                     text.part_pushed + R"(
        wait %marked[g];
        run @part[g, t](%a, %begin, %y);
      }
      case (i: n) on %total_due { wait %marked[*]; run @total[i](%a, %z); }
    }
  }
})",
                 {{}, 13, 26, 20'000, true, 6});
}

bool Has(const std::vector<Wrong>& wrong, Wrong one) {
  return std::find(wrong.begin(), wrong.end(), one) != wrong.end();
}

TEST_CASE("a right queue of as many tasks as data say") { CHECK(WrongIn(DataText{}).empty()); }

TEST_CASE("a queue with too few places for what data may say") {
  DataText text;
  text.capacity = "n";
  CHECK(WrongIn(text) == Found{Wrong::Overflow});
}

TEST_CASE("a push that arrives nowhere leaves tasks where they are") {
  DataText text;
  text.part_pushed = "";
  CHECK(WrongIn(text) == Found{Wrong::Hang});  // nobody uses the trigger, so nothing is miscounted
}

TEST_CASE("an element that nobody completes keeps SMs in the queue, whether it has tasks or not") {
  DataText text;
  text.mark_arrives = "arrive %part_due[0];";
  CHECK(Has(WrongIn(text), Wrong::Hang));
}

TEST_CASE("pushes are counted, not tasks") {
  DataText text;
  text.total_count = "n";
  CHECK(Has(WrongIn(text), Wrong::Count));
}

/// Items that data send to bins: the event of a bin counts what the trigger does, and what counts
/// the items arrives at each.
struct UpdateText {
  std::string capacity = "1 + n + 2";
  std::string due_count = "%items[b] + 1";
  std::string count_after = "wait %counted; arrive %add_due[b] for (b: 2);";
  std::string move_after = "wait %counted; arrive %add_due[%bin[i]];";
};

std::vector<Wrong> WrongIn(const UpdateText& text) {
  std::string moves = text.move_after.empty() ? "" : "after { " + text.move_after + " }";
  return WrongIn(R"(etir 1;
dim n in 1..2;
device @mark(%key: i32[n] in 0..2, %bin: out i32[n]) tasks (i: n) { %bin[i] = %key[i]; }
device @count(%bin: i32[n] in 0..2, %items: out i32[2]) tasks (one: 1) {
  for (b: 2) %items[b] = sum(i: n) select(%bin[i] == b, 1, 0);
}
device @move(%bin: i32[n] in 0..2, %y: out f32[n]) tasks (i: n) { %y[i] = f32(%bin[i]); }
device @add(%bin: i32[n] in 0..2, %items: i32[2] counts %bin, %z: out f32[2]) tasks (b: 2) {
  %z[b] = f32(%items[b]);
}
kernel @k(%key: i32[n] in 0..2, %y: out f32[n], %z: out f32[2]) of @g dynamic {
  launch consumers 8 shared 1024;
  %bin = workspace i32[n] at 0;
  %items = workspace i32[2] at 256;
  event %marked count n via counter at 0;
  event %counted count 1 via counter at 1;
  event %arrived[b: 2] count %items[b] via counter at 2;
  trigger %count_due count n via counter at 4;
  trigger %move_due count 1 via counter at 5;
  trigger %add_due[b: 2] count )" +
                     text.due_count + R"( via counter at 6;
  on sm {
    dispatch queue capacity )" +
                     text.capacity + R"( ahead 1 at 8 {
      case (i: n) { arrive %count_due; run @mark[i](%key, %bin); notify %marked; }
      case (one: 1) on %count_due {
        arrive %move_due;
        after { )" + text.count_after +
                     R"( }
        wait %marked;
        run @count[one](%bin, %items);
        notify %counted;
      }
      case (i: n) on %move_due {
        )" + moves + R"(
        wait %counted;
        run @move[i](%bin, %y);
        notify %arrived[%bin[i]];
      }
      case (b: 2) on %add_due[b] {
        wait %counted;
        wait %arrived[b];
        run @add[b](%bin, %items, %z);
      }
    }
  }
})",
                 {{}, 13, 26, 60'000, true, 6});
}

TEST_CASE("a right queue in which data say where tasks arrive") {
  CHECK(WrongIn(UpdateText{}).empty());
}

TEST_CASE("a queue with too few places for what data send") {
  UpdateText text;
  text.capacity = "n + 2";
  CHECK(WrongIn(text) == Found{Wrong::Overflow});
}

TEST_CASE("items that do not arrive leave their bins where they are") {
  UpdateText text;
  text.move_after = "";
  CHECK(Has(WrongIn(text), Wrong::Hang));
}

TEST_CASE("items that arrive at another bin do, too") {
  UpdateText text;
  text.move_after = "wait %counted; arrive %add_due[0];";
  std::vector<Wrong> wrong = WrongIn(text);
  CHECK(Has(wrong, Wrong::Count));
  CHECK(Has(wrong, Wrong::Early));
}

TEST_CASE("a bin that counts its items alone may come before one of them, and without any never") {
  UpdateText text;
  text.due_count = "%items[b]";
  std::vector<Wrong> wrong = WrongIn(text);
  CHECK(Has(wrong, Wrong::Count));
}

TEST_CASE("who arrives twice completes bins too early") {
  UpdateText text;
  text.count_after += " arrive %add_due[b] for (b: 2);";
  CHECK(Has(WrongIn(text), Wrong::Early));
}

}  // namespace
}  // namespace etc::mutation
