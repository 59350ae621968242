// Reductions that a statement has several times are computed once.
#include "raised_text.h"

namespace etc {
namespace {

/// How many reductions are computed in front of their statements.
size_t KeptIn(const std::string& statement) {
  const RaisedText text(R"(fn gated(c, a) = select(c, a, 0.0) + a;
fn either(c, a) = select(c, a, a + 1.0);
fn square(a) = a * a;
device @f(%x: f32[64], %y: inout f32[64], %z: inout i32[64]) tasks (one: 1) {
  for (m: 8) { )" + statement +
                        R"( }
}
kernel @g(%a: f32[64], %b: inout f32[64], %c: inout i32[64]) of @g static {
  launch consumers 8 shared 225280;
  on sm { share (one: 1) from 0 { run @f[one](%a, %b, %c); } }
}
)");
  size_t kept = 0;
  for (const auto& [stmt, reductions] : text.Kernel().keeping) {
    kept += reductions.size();
  }
  return kept;
}

TEST_CASE("a reduction that a formula has twice is computed once") {
  CHECK(KeptIn("%y[m] = square(sum(i: 8) %x[m * 8 + i]);") == 1);
  CHECK(KeptIn("let s = square(sum(i: 8) %x[m * 8 + i]); %y[m] = s;") == 1);
  CHECK(KeptIn("%y[m] = square(square(sum(i: 8) %x[m * 8 + i]));") == 1);
}

TEST_CASE("the names of the variables make no difference, and the words do") {
  CHECK(KeptIn("%y[m] = (sum(i: 8) %x[m * 8 + i]) + (sum(j: 8) %x[m * 8 + j]);") == 1);
  CHECK(KeptIn("%y[m] = (sum(i: 8) %x[m * 8 + i]) + (sum(i: 7) %x[m * 8 + i]);") == 0);
  CHECK(KeptIn("%y[m] = (sum(i: 8) %x[m * 8 + i]) + (prod(i: 8) %x[m * 8 + i]);") == 0);
  CHECK(KeptIn("%y[m] = (sum(i: 8) %x[m * 8 + i]) + (sum(i: 8) %y[m * 8 + i]);") == 0);
  CHECK(KeptIn("%y[m] = (sum(i: 8) f32(%z[i])) + (sum(i: 8) f32(%z[i]));") == 1);
}

TEST_CASE("what a statement may leave out is computed where it stands") {
  CHECK(KeptIn("%y[m] = gated(%z[m] > 0, sum(i: 8) %x[m * 8 + i]);") == 1);
  CHECK(KeptIn("%y[m] = either(%z[m] > 0, sum(i: 8) %x[m * 8 + i]);") == 0);
  CHECK(KeptIn("%z[m] = select(%z[m] > 0 && square(sum(i: 8) %x[m * 8 + i]) > 1.0, 1, 2);") == 0);
}

TEST_CASE("statements do not share, as what they read may change between them") {
  CHECK(KeptIn("%y[m] = sum(i: 8) %x[m * 8 + i]; %y[m] = sum(i: 8) %x[m * 8 + i];") == 0);
}

}  // namespace
}  // namespace etc
