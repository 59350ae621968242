// 8-bit floats to and from 32-bit floats, rounding to nearest even; what is larger than the largest
// finite value becomes that, as the hardware's conversions with `.satfinite` do.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/float16.h"

namespace etc {

/// f8e4m3: 4 bits of exponent, no infinities; all bits set but the sign is NaN.
inline float FloatFromF8E4M3(uint8_t bits) {
  int exponent = bits >> 3 & 0xf;
  int fraction = bits & 7;
  float magnitude = (bits & 0x7f) == 0x7f ? NAN
                    : exponent == 0       ? std::ldexp(static_cast<float>(fraction), -9)
                                    : std::ldexp(static_cast<float>(fraction | 8), exponent - 10);
  return std::copysign(magnitude, (bits & 0x80) != 0 ? -1.0F : 1.0F);
}

/// f8e5m2: the upper half of an f16.
inline float FloatFromF8E5M2(uint8_t bits) {
  return FloatFromF16(static_cast<uint16_t>(bits << 8));
}

/// By the bits of the fraction, the least exponent and the bits of the largest finite value.
inline uint8_t F8FromFloat(float value, int fraction_bits, int least_exponent, int largest) {
  if (std::isnan(value)) {
    return 0x7f;
  }
  int sign = std::signbit(value) ? 0x80 : 0;
  float magnitude = std::fabs(value);
  if (magnitude >= 0x1p16F) {
    return static_cast<uint8_t>(sign | largest);
  }
  int exponent =
      magnitude < std::ldexp(1.0F, least_exponent) ? least_exponent : std::ilogb(magnitude);
  // In units of the last place; a carry out of the fraction moves on to the next exponent.
  auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent)));
  int bits = (exponent - least_exponent) * (1 << fraction_bits) + units;
  return static_cast<uint8_t>(sign | (bits < largest ? bits : largest));
}

inline uint8_t F8E4M3FromFloat(float value) { return F8FromFloat(value, 3, -6, 0x7e); }
inline uint8_t F8E5M2FromFloat(float value) { return F8FromFloat(value, 2, -14, 0x7b); }

}  // namespace etc
