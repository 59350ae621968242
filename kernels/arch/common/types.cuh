// The machine's floating-point types, and the conversions between them.
#pragma once

#include "arch/common/convert.cuh"
#include "arch/common/names.cuh"

namespace etc {

struct bf16 {
  u16 bits;
};
struct f16 {
  u16 bits;
};
struct f8e4m3 {
  u8 bits;
};
struct f8e5m2 {
  u8 bits;
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
ETC_DEVICE float ToFloat(f16 value) { return FloatOfF16(value.bits); }
ETC_DEVICE float ToFloat(f8e4m3 value) { return FloatOfF8E4M3(value.bits); }
ETC_DEVICE float ToFloat(f8e5m2 value) { return FloatOfF8E5M2(value.bits); }

/// Rounds to nearest, ties to even.
template <class T>
ETC_DEVICE T FromFloat(float value);
template <>
ETC_DEVICE float FromFloat<float>(float value) {
  return value;
}
template <>
ETC_DEVICE bf16 FromFloat<bf16>(float value) {
  return {Bf16OfFloat(value)};
}
template <>
ETC_DEVICE f16 FromFloat<f16>(float value) {
  return {F16OfFloat(value)};
}
template <>
ETC_DEVICE f8e4m3 FromFloat<f8e4m3>(float value) {
  return {F8E4M3OfFloat(value)};
}
template <>
ETC_DEVICE f8e5m2 FromFloat<f8e5m2>(float value) {
  return {F8E5M2OfFloat(value)};
}

/// The halves of a word of PackBf16.
ETC_DEVICE float LowBf16(u32 pair) { return BitsToFloat(pair << 16); }
ETC_DEVICE float HighBf16(u32 pair) { return BitsToFloat(pair & 0xffff0000u); }

}  // namespace etc
