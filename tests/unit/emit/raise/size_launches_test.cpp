// The memory that a launch needs, and its number of tasks.
#include "ir/printer.h"
#include "raised_text.h"

namespace etc {
namespace {

const std::string kDevices = R"(dim n in 1..64;
device @f(%x: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i]; }
device @ragged(%x: f32[n], %y: out f32[n]) tasks (i: n, j: i + 1) {
  if (j == 0) { %y[i] = %x[i]; }
}
)";

std::string Print(const RaisedText& text, ExprId id) { return etc::Print(*text.module, id); }

TEST_CASE("buffers end behind their elements, and counters behind the last event's") {
  RaisedText text(kDevices + R"(
kernel @g(%a: f32[n], %b: out f32[n]) of @g static {
  launch consumers 8 shared 225280;
  %p = workspace f32[n] at 0;
  %q = workspace bf16[n, 4] at 256;
  event %first[2, n] count 1 via counter at 0;
  event %second[n] count 1 via counter at n * 2;
  on sm { share (i: n) from 0 { run @f[i](%a, %b); } }
}
)");
  const RaisedKernel& kernel = text.Kernel();
  REQUIRE(kernel.buffers.size() == 2);
  CHECK(kernel.buffers[0].unit == 4);
  CHECK(Print(text, kernel.buffers[1].first) == "256");
  CHECK(kernel.buffers[1].unit == 2);
  CHECK(kernel.buffers[1].extents.size() == 2);
  CHECK(kernel.flag_buffers.empty());
  CHECK_FALSE(kernel.flags_begin);
  REQUIRE(kernel.last_counters);
  CHECK(Print(text, kernel.last_counters->first) == "n * 2");
  CHECK(kernel.last_counters->unit == 1);
  CHECK(kernel.last_counters->extents.size() == 1);
}

TEST_CASE("tickets end behind a counter for each case of each iteration") {
  RaisedText text(kDevices + R"(
kernel @g(%a: f32[n], %b: out f32[n]) of @g dynamic {
  launch consumers 8 shared 225280;
  event %first[n] count 1 via counter at 0;
  on sm {
    repeat l in 1..4 {
      dispatch drain ahead 3 at n {
        case (i: n) { run @f[i](%a, %b); }
        case (i: n, j: i + 1) { run @ragged[i, j](%a, %b); }
      }
    }
  }
}
)");
  const RaisedKernel& kernel = text.Kernel();
  CHECK(kernel.most_ahead == 3);
  REQUIRE(kernel.last_counters);
  CHECK(Print(text, kernel.last_counters->first) == "n");
  CHECK(kernel.last_counters->unit == 2);
  REQUIRE(kernel.last_counters->iterations.size() == 1);
  CHECK(Print(text, kernel.last_counters->iterations[0].lo) == "1");
  REQUIRE(text.Share(1).tickets);
  CHECK(text.Share(1).tickets->place == 1);
  CHECK(text.Says("    tickets from counter n + 1, 3 ahead"));
}

TEST_CASE("flagged buffers are told apart, with the place of the first one") {
  RaisedText text(kDevices + R"(
kernel @g(%a: f32[n], %b: out f32[n]) of @g static {
  launch consumers 8 shared 225280;
  %p = workspace f32[n] at 0;
  %q = workspace flagged f32[2, n, 4] at 1024;
  on sm { share (i: n) from 0 { run @f[i](%a, %b); } }
}
)");
  CHECK(text.Kernel().buffers.size() == 2);
  REQUIRE(text.Kernel().flag_buffers.size() == 1);
  CHECK(text.Kernel().flag_buffers[0].unit == 8);
  CHECK(text.Kernel().flags_begin == 1024);
  CHECK_FALSE(text.Kernel().last_counters);
}

TEST_CASE("a launch whose axes form no box has as many tasks as only the launch knows") {
  RaisedText text(kDevices + R"(
kernel @g(%a: f32[n], %b: out f32[n]) of @g kernels {
  launch consumers 8 shared 225280;
  on stream {
    launch (i: n) run @f[i](%a, %b);
    launch (i: n, j: i + 1) run @ragged[i, j](%a, %b);
  }
}
)");
  REQUIRE(text.Kernel().launches.size() == 2);
  REQUIRE(text.Kernel().launches[0].tasks);
  CHECK(Print(text, text.Kernel().launches[0].tasks->front().hi) == "n");
  CHECK_FALSE(text.Kernel().launches[1].tasks);
}

}  // namespace
}  // namespace etc
