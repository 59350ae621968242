// The oracle knows what is wrong with queues of which one can see it.
#include <doctest/doctest.h>

#include "check.h"
#include "oracle.h"

namespace etc::mutation {
namespace {

using Found = std::vector<Wrong>;

/// Three copies in a row: the first is there from the start, the others are pushed.
struct Text {
  std::string capacity = "2 * ceildiv(n, 4)";
  std::string second_count = "1";
  std::string first_arrives = "arrive %second[t];";
  std::string second_arrives = "arrive %third[t];";
  std::string third_wait = "wait %b_row[t];";
};

std::vector<Wrong> WrongIn(const Text& text) {
  CheckResult check = Check(R"(etir 1;
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
    dispatch queue capacity )" + text.capacity +
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
                            {});
  INFO(check.messages);
  REQUIRE(check.module != nullptr);
  Verdict verdict = Judge(*check.module, {{}, 13, 26, 20'000, true});
  CHECK(verdict.judged);
  CHECK(verdict.explored > 0);
  CHECK(verdict.disagreements == 0);
  std::vector<Wrong> wrong;
  for (const auto& [what, detail] : verdict.wrong) {
    wrong.push_back(what);
  }
  return wrong;
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

}  // namespace
}  // namespace etc::mutation
