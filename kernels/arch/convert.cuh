// Conversions that the hardware has an instruction for, of the bits of 16-bit floats. All round to
// nearest, ties to even.
#pragma once

#include "arch/names.cuh"

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

/// Two bf16 in a word, the first in the lower half: their order in memory.
ETC_DEVICE u32 PackBf16(float low, float high) {
  u32 result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}

}  // namespace etc
