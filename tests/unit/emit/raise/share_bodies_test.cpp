// How threads run a body together, and the barriers between its statements.
#include "raised_text.h"

namespace etc {
namespace {

RaisedText WithBody(const std::string& body, Arch arch = Arch::Sm90a) {
  return RaisedText(R"(dim n in 1..64;
fn gated(c, a) = select(c, a, 0.0) + a;
device @f(%x: f32[64], %y: inout f32[64], %z: out i32[64]) tasks (one: 1) { )" +
                        body + R"( }
kernel @g(%a: f32[64], %b: inout f32[64], %c: out i32[64]) of @g static {
  launch consumers 8 shared 225280;
  on sm { share (one: 1) from 0 { run @f[one](%a, %b, %c); } }
}
)",
                    arch);
}

/// The lines about the body, without their indentation by two levels.
std::string StepsOf(const std::string& body) {
  std::string text = Describe(*WithBody(body).raised), steps;
  for (size_t at = text.find("//     "); at != std::string::npos;) {
    size_t end = text.find('\n', at);
    steps += text.substr(at + 7, end + 1 - (at + 7));
    at = text.compare(end + 1, 7, "//     ") == 0 ? end + 1 : std::string::npos;
  }
  return steps;
}

TEST_CASE("threads divide the points of a `for`") {
  CHECK(StepsOf("for (i: 64) %y[i] = %x[i];") == "divided: for (i: 64)\nbarrier\n");
  CHECK(StepsOf("for (i: 8, j: 8) %y[i * 8 + j] = 1.0;") == "divided: for (i: 8, j: 8)\nbarrier\n");
}

TEST_CASE("axes whose bounds depend on an earlier one stay loops") {
  CHECK(StepsOf("for (i: 8, j: 4, k: i + 1, l: 2) %y[i + j + k + l] = 1.0;") ==
        "divided: for (i: 8, j: 4)\n  for (k: i + 1, l: 2)\nbarrier\n");
}

TEST_CASE("a barrier behind bounds that the loop overwrites") {
  CHECK(StepsOf("for (i: i32(%y[0])) %y[i] = 1.0;") ==
        "divided: for (i: i32(%y[0])), barrier behind the bounds\nbarrier\n");
}

TEST_CASE("one thread does what stands in no `for`") {
  CHECK(StepsOf("%y[0] = 1.0;") == "one thread: store to %y\nbarrier\n");
  CHECK(StepsOf("scan (i: 1..64) %y[i] = %y[i - 1];") ==
        "one thread: scan (i: 1 .. 64)\nbarrier\n");
}

TEST_CASE("each thread has a `let`, and a barrier stands before what it reads is stored over") {
  CHECK(StepsOf("let m = %y[0]; %y[1] = m;") ==
        "each thread: let m\nbarrier\none thread: store to %y\nbarrier\n");
  CHECK(StepsOf("let m = %x[0]; %y[1] = m;") ==
        "each thread: let m\none thread: store to %y\nbarrier\n");
}

TEST_CASE("threads share a reduction that is the same for all of them") {
  CHECK(StepsOf("let m = sum(i: 64) %y[i]; %y[0] = m;") ==
        "reduction 0, divided: (i: 64)\neach thread: let m\none thread: store to %y\nbarrier\n");
  CHECK(StepsOf("%y[0] = 1.0 + max(i: 8, j: i + 8) %x[i + j];") ==
        "reduction 0, divided: (i: 8)\n  for (j: i + 8)\none thread: store to %y\nbarrier\n");
  RaisedText text = WithBody("let m = sum(i: 64) %x[i]; let k = prod(i: 64) %x[i]; %y[0] = m + k;");
  CHECK(text.Kernel().devices[0].scratch_bytes == 256);
  CHECK(text.Kernel().shared_reductions.size() == 2);
}

TEST_CASE("an argument of a function may stand in several places") {
  CHECK(StepsOf("let s = gated(%z[0] > 0, sum(i: 64) %x[i]);") ==
        "reduction 0, divided: (i: 64)\neach thread: let s\n");
}

TEST_CASE("a thread alone has reductions that are short, may be left out or are of an index") {
  CHECK(StepsOf("let m = sum(i: 32) %x[i];") == "each thread: let m\n");
  CHECK(StepsOf("let m = select(%z[0] > 0, sum(i: 64) %x[i], 0.0);") == "each thread: let m\n");
  CHECK(StepsOf("let m = %z[0] > 0 && sum(i: 64) %x[i] > 0.0;") == "each thread: let m\n");
  CHECK(StepsOf("let m = argmax(i: 64) %x[i];") == "each thread: let m\n");
  CHECK(StepsOf("let m = sum(i: 64) %x[i] > 0.0 && %z[0] > 0;") ==
        "reduction 0, divided: (i: 64)\neach thread: let m\n");
}

TEST_CASE("a reduction that does not depend on a loop comes before it") {
  CHECK(StepsOf("for (j: 64) %y[j] = sum(i: 64) %x[i];") ==
        "reduction 0, divided: (i: 64)\ndivided: for (j: 64)\nbarrier\n");
  CHECK(StepsOf("for (j: 64) { let k = sum(i: 64) %x[i]; %y[j] = k; }") ==
        "reduction 0, divided: (i: 64)\ndivided: for (j: 64)\nbarrier\n");
  CHECK(StepsOf("let v = sum(i: 64) (%x[i] - max(j: 64) %x[j]);") ==
        "reduction 0, divided: (j: 64)\nreduction 1, divided: (i: 64)\neach thread: let v\n");
  const std::string alone = "divided: for (j: 64)\nbarrier\n";
  CHECK(StepsOf("for (j: 64) %y[j] = sum(i: 64) %x[max(0, i - j)];") == alone);
  CHECK(StepsOf("for (j: 64) %y[j] = sum(i: 64) %y[i];") == alone);
  CHECK(StepsOf("for (j: 64) { let k = j / 2; %y[j] = sum(i: 64) %x[max(i, k)]; }") == alone);
  CHECK(StepsOf("for (j: 64) if (j > 3) %y[j] = sum(i: 64) %x[i];") == alone);
  CHECK(StepsOf("for (j: %z[0]) %y[j] = sum(i: 64) %x[i];") ==
        "divided: for (j: %z[0])\nbarrier\n");
}

TEST_CASE("threads walk through a scan together that has something to divide") {
  CHECK(StepsOf("scan (s: 4) { for (i: 64) %y[i] = %y[i] + %x[s]; }") ==
        "together: scan (s: 4)\n  divided: for (i: 64)\n  barrier\n");
  CHECK(StepsOf("scan (s: 4, t: i32(%y[s])) { for (i: 64) %y[i] = 1.0; }") ==
        "together: scan (s: 4, t: i32(%y[s]))\n  barrier\n"
        "  divided: for (i: 64)\n  barrier\n  barrier\n");
}

TEST_CASE("threads take the same side of an `if`") {
  CHECK(StepsOf("if (%y[0] > 0.0) { for (i: 64) %y[i] = 1.0; } else { %y[1] = 2.0; }") ==
        "if (%y[0] > 0.0)\n  barrier\n  divided: for (i: 64)\n  barrier\nelse\n"
        "  barrier\n  one thread: store to %y\n  barrier\n");
}

TEST_CASE("locals share scratch memory, each at a multiple of 16 bytes") {
  RaisedText text =
      WithBody("local %s: f32[5]; local %t: i32[3]; for (i: 3) { %s[i] = 1.0; %t[i] = i; }");
  const RaisedDevice& device = text.Kernel().devices[0];
  CHECK(device.scratch_bytes == 48);
  REQUIRE(device.steps);
  CHECK(std::get<SharedLocal>((*device.steps)[1].AsVariant()).offset == 32);
  CHECK(WithBody("for (i: 3) { local %s: f32[5]; %s[0] = 1.0; %y[i] = %s[0]; }")
            .Kernel()
            .devices[0]
            .scratch_bytes == 0);
}

TEST_CASE("on the host one thread runs a task") {
  CHECK(!WithBody("%y[0] = 1.0;", Arch::Host).Kernel().devices[0].steps);
}

}  // namespace
}  // namespace etc
