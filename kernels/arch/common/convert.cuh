// Conversions that the hardware has an instruction for, of the bits of 16-bit and 8-bit floats. All
// round to nearest, ties to even; those to 8 bits give the largest finite value for what is larger.
#pragma once

#include "arch/common/names.cuh"

namespace etc {

ETC_DEVICE float FloatOfF16(u16 bits) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(bits));
  return result;
}
ETC_DEVICE u16 F16OfFloat(float value) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
ETC_DEVICE u16 Bf16OfFloat(float value) {
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

// The instructions take two values; the second is in the lower half.
ETC_DEVICE u8 F8E4M3OfFloat(float value) {
  u16 bits;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(0.0f), "f"(value));
  return u8(bits);
}
ETC_DEVICE u8 F8E5M2OfFloat(float value) {
  u16 bits;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(0.0f), "f"(value));
  return u8(bits);
}
ETC_DEVICE float FloatOfF8E4M3(u8 bits) {
  u32 halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(u16(bits)));
  return FloatOfF16(u16(halves));
}
// The upper half of the f16 with the same value.
ETC_DEVICE float FloatOfF8E5M2(u8 bits) { return FloatOfF16(u16(bits << 8)); }

/// Two bf16 in a word, the first in the lower half: their order in memory.
ETC_DEVICE u32 PackBf16(float low, float high) {
  u32 result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}

}  // namespace etc
