#include "tensor/float8.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

namespace etc {
namespace {

/// The values of all bit patterns without a sign, written down from the definition of a format: of
/// each exponent from the least on, all fractions.
std::vector<double> Table(int fraction_bits, int exponents, double least) {
  std::vector<double> values;
  double unit = least;
  for (int exponent = 0; exponent < exponents; ++exponent) {
    for (int fraction = 0; fraction < 1 << fraction_bits; ++fraction) {
      values.push_back(unit * (fraction + (exponent == 0 ? 0 : 1 << fraction_bits)));
    }
    unit *= exponent == 0 ? 1 : 2;
  }
  return values;
}

template <class FromBits, class ToBits>
void CheckAll(const std::vector<double>& table, FromBits from_bits, ToBits to_bits) {
  for (size_t i = 0; i < table.size(); ++i) {
    auto bits = static_cast<uint8_t>(i);
    auto negative = static_cast<uint8_t>(bits | 0x80);
    CHECK(from_bits(bits) == table[i]);
    CHECK(from_bits(negative) == -table[i]);
    CHECK(std::signbit(from_bits(negative)));
    CHECK(to_bits(static_cast<float>(table[i])) == bits);
    CHECK(to_bits(static_cast<float>(-table[i])) == negative);
    if (i + 1 < table.size()) {
      // Between two neighbours: to the nearer one, and from the middle to the even one.
      double middle = (table[i] + table[i + 1]) / 2;
      auto next = static_cast<uint8_t>(i + 1);
      CHECK(to_bits(static_cast<float>(middle)) == (i % 2 == 0 ? bits : next));
      CHECK(to_bits(std::nextafter(static_cast<float>(middle), 0.0F)) == bits);
      CHECK(to_bits(std::nextafter(static_cast<float>(middle), 1e9F)) == next);
    }
  }
  auto largest = static_cast<uint8_t>(table.size() - 1);
  for (float large :
       {static_cast<float>(table.back()) * 1.5F, 1e30F, std::numeric_limits<float>::infinity()}) {
    CHECK(to_bits(large) == largest);
    CHECK(to_bits(-large) == (largest | 0x80));
  }
  for (int bits = largest + 1; bits < 128; ++bits) {
    CHECK(!std::isfinite(from_bits(static_cast<uint8_t>(bits))));
  }
  CHECK(to_bits(std::numeric_limits<float>::quiet_NaN()) == 0x7f);
  CHECK(std::isnan(from_bits(0x7f)));
  CHECK(std::isnan(from_bits(0xff)));
}

TEST_CASE("f8e4m3 has the values of its definition, and rounds to them") {
  std::vector<double> table = Table(3, 16, 0x1p-9);
  table.pop_back();  // NaN
  CHECK(table.back() == 448);
  CheckAll(table, FloatFromF8E4M3, F8E4M3FromFloat);
}

TEST_CASE("f8e5m2 has the values of its definition, and rounds to them") {
  std::vector<double> table = Table(2, 31, 0x1p-16);
  CHECK(table.back() == 57344);
  CheckAll(table, FloatFromF8E5M2, F8E5M2FromFloat);
  CHECK(std::isinf(FloatFromF8E5M2(0x7c)));
}

}  // namespace
}  // namespace etc
