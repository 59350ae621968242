// Arithmetic that needs care about its range, or lanes that work together.
#pragma once

#include "arch/common/approximate.cuh"
#include "arch/common/types.cuh"

namespace etc {

constexpr float kLog2E = 1.4426950408889634f;
inline constexpr float kLn2 = 0.6931471805599453f;

ETC_DEVICE float Silu(float x) { return __fdividef(x, 1.0f + Exp2(-x * kLog2E)); }

/// The Gaussian error linear unit by its tanh: x / 2 (1 + tanh u) = x / (1 + exp(-2u)), where u is
/// sqrt(2 / pi) (x + 0.044715 x^3).
ETC_DEVICE float Gelu(float x) {
  float u = 0.7978845608028654f * fmaf(0.044715f * x * x, x, x);
  return __fdividef(x, 1.0f + Exp2(-2.0f * kLog2E * u));
}

// The hardware's sine and cosine are accurate to 2^-21 in [-pi, pi] only; two pi is taken off in
// three parts, each product exact, which holds the error for angles up to some millions.
ETC_DEVICE void SinCos(float angle, float& sine, float& cosine) {
  float turns = rintf(angle * 0.15915494309189535f);
  float reduced = fmaf(turns, -6.28125f, angle);
  reduced = fmaf(turns, -1.9350051879882812e-3f, reduced);
  reduced = fmaf(turns, -3.0199159819e-7f, reduced);
  sine = SineApproximation(reduced);
  cosine = CosineApproximation(reduced);
}

/// Sum over the aligned group of `width` lanes that the calling lane is in; every lane gets it.
template <int width>
ETC_DEVICE float GroupSum(float value) {
#pragma unroll
  for (int offset = width / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

/// The sum of the values of a warp's lanes up to this one.
ETC_DEVICE int SumUpToLane(int lane, int value) {
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    int other = __shfl_sync(0xffffffffu, value, (lane - offset) & 31);
    value += lane >= offset ? other : 0;
  }
  return value;
}

/// The largest value among the lanes whose numbers differ in the bits from `lowest` on below `end`
/// only, in each of them.
template <int lowest, int end>
ETC_DEVICE float LaneMax(float value) {
#pragma unroll
  for (int offset = lowest; offset < end; offset *= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

}  // namespace etc
