// What debug checks and watchdogs say, and which numbers their messages have.
#include "raised_text.h"

namespace etc {
namespace {

const char* const kPicked = R"(dim n in 1..8;
device @pick(%x: f32[n], %p: i32[n] in 0..n, %y: out f32[n]) tasks (i: n) {
  %y[i] = %x[%p[i]];
}
kernel @g(%in: f32[n], %p: i32[n], %out: out f32[n]) of @g static where (n in 1..8) {
  launch consumers 8 shared 225280;
  check accesses;
  watchdog 2;
  event %e[n] count 1 via counter at 0;
  on sm {
    repeat l in 1..3 {
      share (i: n) from 0 {
        wait %e[i];
        run @pick[i](%in, %p, %out);
        notify %e[i];
      }
    }
  }
}
)";

TEST_CASE("an index that data decide has a message with the task") {
  RaisedText text(kPicked);
  CHECK(text.Says("check 0 says: @pick, task [{}]: index 0 of %x is {}, outside of 0..{}"));
  const BodyMessages& says = text.Kernel().devices[0].says;
  CHECK(says.indices.size() == 1);
  CHECK(says.elements.empty());  // the launch does not compute %p
}

TEST_CASE("a watched wait names its task and the iterations around it") {
  RaisedText text(kPicked);
  CHECK(
      text.Says("wait 0 says: kernel @g: @pick, task [{}], l = {}, waits for %e[{}], of which {} "
                "of {} notifies came, and nothing has happened for 2 s"));
  const RaisedShare& share = text.Share(0);
  REQUIRE(share.waits[0].watched);
  CHECK(share.waits[0].watched->variables.size() == 2);
  CHECK(!share.notifies[0].watched);
}

TEST_CASE("the place of a wait is its repeat, the iteration, and the node inside of it") {
  RaisedText text(kPicked);
  const std::vector<OrderPart>& place = text.Share(0).place;
  REQUIRE(place.size() == 3);
  CHECK(place[0].repeat == nullptr);
  CHECK(place[1].repeat != nullptr);
  CHECK(place[0].shift > place[1].shift);
  CHECK(place[1].shift > place[2].shift);
}

TEST_CASE("equal messages have one number") {
  MessageTexts texts;
  CHECK(AddMessage(texts, "a") == 0);
  CHECK(AddMessage(texts, "b") == 1);
  CHECK(AddMessage(texts, "a") == 0);
  CHECK(texts.size() == 2);
}

}  // namespace
}  // namespace etc
