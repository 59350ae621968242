// Emulated: see kernels/arch/common/approximate.cuh.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE float Exp2(float x) { return std::exp2(x); }
ETC_DEVICE float ReciprocalSqrt(float x) { return 1.0f / std::sqrt(x); }
ETC_DEVICE float SineApproximation(float angle) { return std::sin(angle); }
ETC_DEVICE float CosineApproximation(float angle) { return std::cos(angle); }
ETC_DEVICE u32 MultiplyBf16(u32 a, u32 b) {
  return PackBf16(LowBf16(a) * LowBf16(b), HighBf16(a) * HighBf16(b));
}

}  // namespace etc
