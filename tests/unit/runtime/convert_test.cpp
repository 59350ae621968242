// Conversions between f32, f16 and bf16, against arithmetic in double.
#include "runtime/weights/convert.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace etc::runtime {
namespace {

template <class To, class From>
To ConvertOne(const char* from, etc_dtype to, From value) {
  To made{};
  Convert(FindConversion(from, to), reinterpret_cast<const char*>(&value), 1,
          reinterpret_cast<char*>(&made));
  return made;
}

/// The value of a float with so many bits of exponent and mantissa.
double ValueOf(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto mantissa = static_cast<double>(bits & ((1U << mantissa_bits) - 1));
  const int exponent = static_cast<int>(bits >> mantissa_bits & ((1U << exponent_bits) - 1));
  const double sign = bits >> (exponent_bits + mantissa_bits) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const double scale = std::ldexp(1.0, -mantissa_bits);
  return exponent == 0 ? sign * std::ldexp(mantissa * scale, 1 - bias)
                       : sign * std::ldexp(1 + mantissa * scale, exponent - bias);
}

/// The narrow float nearest to `value`, ties to even, by search.
uint16_t Nearest(double value, int exponent_bits, int mantissa_bits) {
  const uint32_t infinity = ((1U << exponent_bits) - 1) << mantissa_bits;
  uint32_t low = 0;
  uint32_t high = infinity;
  const double magnitude = std::abs(value);
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (ValueOf(middle, exponent_bits, mantissa_bits) <= magnitude ? low : high) = middle;
  }
  const double below = ValueOf(low, exponent_bits, mantissa_bits);
  // What would come behind the largest number decides what becomes infinite.
  const double above = high == infinity ? 2 * below - ValueOf(low - 1, exponent_bits, mantissa_bits)
                                        : ValueOf(high, exponent_bits, mantissa_bits);
  const double middle = (below + above) / 2;
  const uint32_t nearest = magnitude > middle || (magnitude == middle && low % 2 == 1) ? high : low;
  return static_cast<uint16_t>(nearest | (std::signbit(value) ? 1U : 0U)
                                             << (exponent_bits + mantissa_bits));
}

std::vector<uint32_t> SomeFloats() {
  std::vector<uint32_t> all;
  uint32_t random = 1;
  for (int i = 0; i < 20000; ++i) {
    random = random * 1664525 + 1013904223;
    all.push_back(random);
  }
  for (uint32_t high = 0; high < 0x10000; ++high) {
    for (const uint32_t low : {0U, 0x0fffU, 0x1000U, 0x1001U, 0x7fffU, 0x8000U, 0x8001U}) {
      all.push_back(high << 16 | low);
    }
  }
  return all;
}

TEST_CASE("f32 becomes the nearest bf16 and f16") {
  int wrong = 0;
  for (const uint32_t bits : SomeFloats()) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    const auto bf16 = ConvertOne<uint16_t>("F32", ETC_BF16, bits);
    const auto f16 = ConvertOne<uint16_t>("F32", ETC_F16, bits);
    if (std::isnan(value)) {
      wrong += std::isnan(ValueOf(bf16, 8, 7)) && std::isnan(ValueOf(f16, 5, 10)) ? 0 : 1;
    } else if (std::isinf(value)) {
      wrong += ValueOf(bf16, 8, 7) == value && ValueOf(f16, 5, 10) == value ? 0 : 1;
    } else {
      wrong += bf16 == Nearest(value, 8, 7) && f16 == Nearest(value, 5, 10) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("every f16 and bf16 keeps its value in f32, and becomes the nearest of the other") {
  int wrong = 0;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const double of_f16 = ValueOf(bits, 5, 10);
    const double of_bf16 = ValueOf(bits, 8, 7);
    const auto f32_of_f16 = ConvertOne<float>("F16", ETC_F32, half);
    const auto f32_of_bf16 = ConvertOne<float>("BF16", ETC_F32, half);
    if (std::isfinite(of_f16)) {
      wrong += f32_of_f16 == of_f16 ? 0 : 1;
      wrong += ConvertOne<uint16_t>("F16", ETC_BF16, half) == Nearest(of_f16, 8, 7) ? 0 : 1;
    } else {
      wrong += std::isnan(of_f16) == std::isnan(f32_of_f16) ? 0 : 1;
    }
    if (std::isfinite(of_bf16)) {
      wrong += f32_of_bf16 == of_bf16 ? 0 : 1;
      wrong += ConvertOne<uint16_t>("BF16", ETC_F16, half) == Nearest(of_bf16, 5, 10) ? 0 : 1;
    } else {
      wrong += std::isnan(of_bf16) == std::isnan(f32_of_bf16) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("other pairs of types are copied or refused") {
  CHECK(FindConversion("I64", ETC_I64).kind == Conversion::Kind::Copy);
  CHECK(FindConversion("F8_E4M3", ETC_F8E4M3).kind == Conversion::Kind::Copy);
  CHECK(FindConversion("I32", ETC_I64).kind == Conversion::Kind::None);
  CHECK(FindConversion("F64", ETC_F32).kind == Conversion::Kind::None);
  CHECK(FindConversion("unknown", ETC_F32).kind == Conversion::Kind::None);
}

}  // namespace
}  // namespace etc::runtime
