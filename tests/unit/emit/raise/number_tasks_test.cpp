// Loops and boxes of tasks, and the width of their numbers.
#include "raised_text.h"

namespace etc {
namespace {

/// A kernel of one share over `axes`.
std::string ShareOf(const std::string& axes, const std::string& coordinates,
                    const std::string& first = "0") {
  return R"(dim n in 1..4096;
dim huge in 1..4294967296;
device @f(%x: f32[4]) tasks ()" +
         axes + R"() { local %s: f32[1]; %s[0] = %x[0]; }
kernel @g(%a: f32[4]) of @g static {
  launch consumers 8 shared 225280;
  on sm { share ()" +
         axes + ") from " + first + " { run @f[" + coordinates + R"(](%a); } }
}
)";
}

TEST_CASE("axes on which no range depends are a box") {
  RaisedText text(ShareOf("i: n, j: 4", "i, j"));
  CHECK(text.Share(0).loops == 0);
  CHECK(text.Says("    box (i: n, j: 4), tasks numbered in 32 bits"));
}

TEST_CASE("axes up to the last one on which a range depends are loops") {
  CHECK(RaisedText(ShareOf("i: n, j: i + 1", "i, j")).Share(0).loops == 1);
  CHECK(RaisedText(ShareOf("i: 8, k: 8, j: k .. n", "i, k, j")).Share(0).loops == 2);
  CHECK(RaisedText(ShareOf("i: 8, j: i .. n", "i, j")).Says("    loops (i: 8)"));
}

TEST_CASE("64 bits number what may be 2^31 tasks or more") {
  CHECK(RaisedText(ShareOf("i: n, j: 524287", "i, j")).Share(0).coordinates == Division::Small);
  CHECK(RaisedText(ShareOf("i: n, j: 524288", "i, j")).Share(0).coordinates == Division::Floor);
  CHECK(RaisedText(ShareOf("i: huge", "i")).Share(0).coordinates == Division::Floor);
}

TEST_CASE("the first task's place") {
  CHECK(RaisedText(ShareOf("i: n", "i", "n * 4")).Share(0).first == Division::Small);
  CHECK(RaisedText(ShareOf("i: n", "i", "huge * 4")).Share(0).first == Division::Floor);
}

}  // namespace
}  // namespace etc
