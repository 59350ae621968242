// Buffers that share memory hold no values at the same time.
#include <doctest/doctest.h>

#include <string>

#include "proving.h"

namespace etc {
namespace {

/// What is not proved of the memory of a kernel that launches `body`; its buffers have n elements.
std::string OpenFacts(const std::string& body, const std::string& place_of_b = "0") {
  Proved proved = ProveText(R"(etir 1;
dim n in 2..64;
device @copy(%x: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i]; }
device @most(%x: f32[n], %y: out f32[n]) tasks (i: n - 1) { %y[i] = %x[i]; }
graph @g(%x: f32[n], %y: out f32[n]) { call @copy(%x, %y); }
kernel @k(%x: f32[n], %y: out f32[n]) of @g kernels {
  launch consumers 8 shared 0;
  %a = workspace f32[n] at 0;
  %b = workspace f32[n] at )" +
                            place_of_b + "; on stream {" + body + "} }");
  std::string facts;
  for (const std::string& fact : proved.report.not_proved) {
    bool shared = fact.find("hold no values at the same time") != std::string::npos;
    facts += shared ? fact + "\n" : "";
  }
  return facts;
}

std::string Open(const std::string& reason) {
  return "not proved: `%a` and `%b` hold no values at the same time; they overlap in the "
         "workspace, and " +
         reason + "\n";
}

const std::string kToA = "launch (i: n) run @copy[i](%x, %a);";
const std::string kAToB = "launch (i: n) run @copy[i](%a, %b);";
const std::string kToB = "launch (i: n) run @copy[i](%x, %b);";
const std::string kFromA = "launch (i: n) run @copy[i](%a, %y);";
const std::string kFromB = "launch (i: n) run @copy[i](%b, %y);";
const std::string kMostToB = "launch (i: n - 1) run @most[i](%x, %b);";

std::string Repeated(const std::string& body) { return "repeat l in 0..3 {" + body + "}"; }

TEST_CASE("one buffer is done with before the other begins") {
  CHECK(OpenFacts(kToA + kFromA + kToB + kFromB) == "");
  CHECK(OpenFacts(kToA + kAToB + kFromB) == Open("`@copy` uses both"));
  CHECK(OpenFacts(kToA + kToB + kFromA + kFromB) ==
        Open("`@copy` uses `%b` before `@copy` uses `%a`"));
}

TEST_CASE("places overlap at some size") {
  CHECK(OpenFacts(kToA + kAToB + kFromB, "align(n * 4, 16)") == "");
  CHECK(OpenFacts(kToA + kAToB + kFromB, "align(n * 4, 16) - 16") == Open("`@copy` uses both"));
  CHECK(OpenFacts(kToA + kAToB + kFromB, "240") == Open("`@copy` uses both"));  // at n = 64
  CHECK(OpenFacts(kToA + kAToB + kFromB, "256") == "");
}

TEST_CASE("an iteration begins with buffers that it writes all of") {
  CHECK(OpenFacts(Repeated(kToA + kFromA + kToB + kFromB)) == "");
  CHECK(OpenFacts(Repeated(kToA + kFromA + kMostToB + kFromB)) ==
        Open("an iteration may read what the one before it left in `%b`"));
  // Of the one that is in no repeat with the other, no iteration loses a value.
  CHECK(OpenFacts(kToA + kFromA + Repeated(kMostToB + kFromB)) == "");
}

}  // namespace
}  // namespace etc
