// Widths of divisions, and operands that may be wrong.
#include "raised_text.h"

namespace etc {
namespace {

/// A kernel whose device function stores `value`.
std::string Storing(const std::string& value, const std::string& where = "") {
  return R"(dim n in 1..4096;
dim huge in 0..4294967296;
device @f(%x: i32[4], %y: out i32[4], %z: out f64[4]) tasks (one: 1) { )" +
         value + R"( }
kernel @g(%a: i32[4], %b: out i32[4], %c: out f64[4]) of @g static )" +
         where + R"( {
  launch consumers 8 shared 225280;
  on sm { share (one: 1) from 0 { run @f[one](%a, %b, %c); } }
}
)";
}

TEST_CASE("32 bits divide what is known to fit") {
  CHECK(RaisedText(Storing("%y[0] = n / 3;")).Says("  divided in 32 bits: `n / 3`"));
  CHECK(RaisedText(Storing("%y[0] = (n - 1) % n;")).Says("  divided in 32 bits: `(n - 1) % n`"));
}

TEST_CASE("64 bits divide what may be larger or negative") {
  CHECK(RaisedText(Storing("%y[0] = huge / 3;")).Says("  divided in 64 bits: `huge / 3`"));
  CHECK(RaisedText(Storing("%y[0] = (n - 2) / 3;")).Says("  divided in 64 bits: `(n - 2) / 3`"));
  CHECK(
      RaisedText(Storing("%y[0] = ceildiv(n, 3);")).Says("  divided in 64 bits: `ceildiv(n, 3)`"));
}

TEST_CASE("a divisor may be 0") {
  const char* by_data = "  divided in 64 bits, perhaps by 0: `n / %x[0]`";
  CHECK(RaisedText(Storing("%y[0] = n / %x[0];")).Says(by_data));
  CHECK(RaisedText(Storing("%y[0] = n % huge;"))
            .Says("  divided in 64 bits, perhaps by 0: `n % huge`"));
}

TEST_CASE("a kernel's own sizes decide") {
  CHECK(RaisedText(Storing("%y[0] = n / huge;", "where (huge in 1..8)"))
            .Says("  divided in 32 bits: `n / huge`"));
  RaisedText text(Storing("%y[0] = upper(n);", "where (n in 3..8)"));
  REQUIRE(text.Kernel().limits.size() == 1);
  CHECK(text.Kernel().limits.begin()->second == 8);
}

TEST_CASE("the variable of a repeat has the bounds of its range") {
  RaisedText text(R"(device @f(%x: f32[8]) tasks (i: 8) { local %s: f32[1]; %s[0] = %x[i]; }
kernel @g(%a: f32[8]) of @g static {
  launch consumers 8 shared 225280;
  on sm { repeat l in 0..6 { share (i: 8) from l / 2 { run @f[i](%a); } } }
}
)");
  CHECK(text.Says("  divided in 32 bits: `l / 2`"));
  CHECK(text.Share(0).first == Division::Small);
}

TEST_CASE("shifts by places that are not known") {
  CHECK(RaisedText(Storing("%y[0] = 1 << %x[0];")).Kernel().open_shifts.size() == 1);
  CHECK(RaisedText(Storing("%y[0] = 1 << 5;")).Kernel().open_shifts.empty());
}

TEST_CASE("a float literal has 64 bits where it meets a double") {
  RaisedText text(Storing("%z[0] = f64(%x[0]) * 0.1;"));
  REQUIRE(text.Kernel().doubles.size() == 1);
  CHECK(text.Kernel().doubles.begin()->second == 0.1);
  CHECK(RaisedText(Storing("%z[0] = 0.1;")).Kernel().doubles.size() == 1);
  CHECK(RaisedText(Storing("%y[0] = i32(f32(%x[0]) * 0.5);")).Kernel().doubles.empty());
}

}  // namespace
}  // namespace etc
