// 16-bit floats to and from 32-bit floats, rounding to nearest even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace etc {

inline float FloatFromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

inline uint16_t Bf16FromFloat(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) {
    return static_cast<uint16_t>(bits >> 16 | 0x40);  // quiet, and never an infinity
  }
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float FloatFromF16(uint16_t bits) {
  int exponent = bits >> 10 & 0x1f;
  int fraction = bits & 0x3ff;
  float magnitude = exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                    : exponent == 0
                        ? std::ldexp(static_cast<float>(fraction), -24)
                        : std::ldexp(static_cast<float>(fraction | 0x400), exponent - 25);
  return std::copysign(magnitude, (bits & 0x8000) != 0 ? -1.0F : 1.0F);
}

inline uint16_t F16FromFloat(float value) {
  auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  float magnitude = std::fabs(value);
  if (std::isnan(value)) {
    return sign | 0x7e00;
  }
  if (magnitude >= 65520.0F) {  // halfway from the largest finite value to the next
    return sign | 0x7c00;
  }
  int exponent = magnitude < 0x1p-14F ? -14 : std::ilogb(magnitude);
  // In units of the last place; a carry out of the fraction moves on to the next exponent.
  auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return static_cast<uint16_t>(sign | ((exponent + 14) * 1024 + units));
}

}  // namespace etc
