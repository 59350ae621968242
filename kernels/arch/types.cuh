// Names for the machine's types, and the conversions between them. No toolkit header: this text
// compiles under NVRTC, which has none at hand, as well as under nvcc.
#pragma once

#define ETC_DEVICE __device__ __forceinline__

namespace etc {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;

struct bf16 {
  u16 bits;
};
struct f16 {
  u16 bits;
};

/// Sixteen bytes: what one lane moves at once.
struct alignas(16) Vec4 {
  u32 x, y, z, w;
};

ETC_DEVICE float BitsToFloat(u32 bits) { return __uint_as_float(bits); }
ETC_DEVICE u32 FloatToBits(float value) { return __float_as_uint(value); }
ETC_DEVICE float NegativeInfinity() { return BitsToFloat(0xff800000u); }

ETC_DEVICE float ToFloat(float value) { return value; }
// A bf16 is the upper half of the float with the same value.
ETC_DEVICE float ToFloat(bf16 value) { return BitsToFloat(u32(value.bits) << 16); }
ETC_DEVICE float ToFloat(f16 value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}

/// Rounds to nearest, ties to even.
template <class T>
ETC_DEVICE T FromFloat(float value);
template <>
ETC_DEVICE float FromFloat<float>(float value) {
  return value;
}
template <>
ETC_DEVICE bf16 FromFloat<bf16>(float value) {
  bf16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
}
template <>
ETC_DEVICE f16 FromFloat<f16>(float value) {
  f16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
}

/// Two bf16 in a word, the first in the lower half: their order in memory.
ETC_DEVICE u32 PackBf16(float low, float high) {
  u32 result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}
ETC_DEVICE float LowBf16(u32 pair) { return BitsToFloat(pair << 16); }
ETC_DEVICE float HighBf16(u32 pair) { return BitsToFloat(pair & 0xffff0000u); }

}  // namespace etc
