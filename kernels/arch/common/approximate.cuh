// Arithmetic that the hardware has an instruction for.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE float Exp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

ETC_DEVICE float ReciprocalSqrt(float x) {
  float result;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// Accurate to 2^-21 in [-pi, pi] only.
ETC_DEVICE float SineApproximation(float angle) {
  float result;
  asm("sin.approx.f32 %0, %1;" : "=f"(result) : "f"(angle));
  return result;
}
ETC_DEVICE float CosineApproximation(float angle) {
  float result;
  asm("cos.approx.f32 %0, %1;" : "=f"(result) : "f"(angle));
  return result;
}

/// The products of two pairs of bf16, each rounded once.
ETC_DEVICE u32 MultiplyBf16(u32 a, u32 b) {
  u32 result;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}

}  // namespace etc
