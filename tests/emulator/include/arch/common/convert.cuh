// Emulated: see kernels/arch/common/convert.cuh.
#pragma once

#include "arch/common/names.cuh"

namespace etc {

ETC_DEVICE float FloatOfF16(u16 bits) { return float(std::bit_cast<_Float16>(bits)); }
ETC_DEVICE u16 F16OfFloat(float value) {
  return std::isnan(value) ? u16(0x7fff) : std::bit_cast<u16>(_Float16(value));
}
ETC_DEVICE u16 Bf16OfFloat(float value) {
  const u32 bits = std::bit_cast<u32>(value);
  return std::isnan(value) ? u16(0x7fff) : u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
/// As host_prelude.h has it.
template <int kFraction>
ETC_DEVICE u8 F8OfFloat(float value, int least_exponent, u8 largest) {
  if (std::isnan(value)) {
    return 0x7f;
  }
  const u8 sign = std::signbit(value) ? 0x80 : 0;
  const float magnitude = std::fabs(value);
  if (magnitude >= 65536.0f) {
    return u8(sign | largest);
  }
  int exponent = magnitude == 0 ? least_exponent : std::ilogb(magnitude);
  exponent = exponent < least_exponent ? least_exponent : exponent;
  const int units = int(std::nearbyint(std::ldexp(magnitude, kFraction - exponent)));
  const int bits = (exponent - least_exponent) * (1 << kFraction) + units;
  return u8(sign | (bits < largest ? bits : largest));
}
ETC_DEVICE u8 F8E4M3OfFloat(float value) { return F8OfFloat<3>(value, -6, 0x7e); }
ETC_DEVICE u8 F8E5M2OfFloat(float value) { return F8OfFloat<2>(value, -14, 0x7b); }
ETC_DEVICE float FloatOfF8E5M2(u8 bits) { return FloatOfF16(u16(bits << 8)); }
ETC_DEVICE float FloatOfF8E4M3(u8 bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  const float magnitude = (bits & 0x7f) == 0x7f ? NAN
                          : exponent == 0       ? std::ldexp(float(fraction), -9)
                                                : std::ldexp(float(fraction | 8), exponent - 10);
  return std::copysign(magnitude, (bits & 0x80) != 0 ? -1.0f : 1.0f);
}
ETC_DEVICE u32 PackBf16(float low, float high) {
  return u32(Bf16OfFloat(high)) << 16 | Bf16OfFloat(low);
}

}  // namespace etc
