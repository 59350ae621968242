// How f32, f16 and bf16 become one another, for the host and for kernels.
#pragma once

#include <cstdint>
#include <cstring>

#include "runtime/host_device.h"
#include "runtime/weights/convert.h"

namespace etc::runtime {

inline constexpr uint32_t kF32Infinity = 0x7f800000;

ETC_HOST_DEVICE inline float AsFloat(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
ETC_HOST_DEVICE inline uint32_t BitsOf(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

ETC_HOST_DEVICE inline uint32_t F32OfBf16(uint16_t bits) { return uint32_t{bits} << 16; }

ETC_HOST_DEVICE inline uint32_t F32OfF16(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000U} << 16;
  const uint32_t magnitude = half & 0x7fffU;
  if (magnitude >= 0x7c00) {
    return sign | kF32Infinity | (magnitude & 0x3ff) << 13;
  }
  // The exponents of f16 end 112 earlier; a product by a power of two is exact, subnormals
  // included.
  return sign | BitsOf(AsFloat(magnitude << 13) * 0x1p112F);
}

ETC_HOST_DEVICE inline uint16_t Bf16OfF32(uint32_t bits) {
  if ((bits & ~0x80000000U) > kF32Infinity) {
    return static_cast<uint16_t>(bits >> 16 | 0x40);  // a quiet NaN
  }
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

ETC_HOST_DEVICE inline uint16_t F16OfF32(uint32_t bits) {
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & ~0x80000000U;
  if (magnitude > kF32Infinity) {
    return sign | 0x7e00;
  }
  if (magnitude >= 0x477ff000) {  // 65520, halfway to what would be 65536
    return sign | 0x7c00;
  }
  if (magnitude < 0x38800000) {  // below the smallest normal f16: a sum with 0.5 rounds to 2^-24
    return static_cast<uint16_t>(sign | (BitsOf(AsFloat(magnitude) + 0.5F) - BitsOf(0.5F)));
  }
  return static_cast<uint16_t>(sign |
                               (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

ETC_HOST_DEVICE inline uint16_t Bf16OfF16(uint16_t half) { return Bf16OfF32(F32OfF16(half)); }

ETC_HOST_DEVICE inline uint16_t F16OfBf16(uint16_t bits) { return F16OfF32(F32OfBf16(bits)); }

/// Each rule is a type with the bits that it takes and gives, and `Of`.
template <class FromBits, class ToBits, ToBits (*kFunction)(FromBits)>
struct FloatRule {
  using From = FromBits;
  using To = ToBits;
  ETC_HOST_DEVICE static To Of(From bits) { return kFunction(bits); }
};

/// Calls `use` with the rule of a kind that is one of floats, and with none for others.
template <class Use>
ETC_HOST_DEVICE void WithFloatRule(Conversion::Kind kind, Use use) {
  switch (kind) {
    case Conversion::Kind::None:
    case Conversion::Kind::Copy:
      break;
    case Conversion::Kind::F32ToBf16:
      use(FloatRule<uint32_t, uint16_t, Bf16OfF32>());
      break;
    case Conversion::Kind::F16ToBf16:
      use(FloatRule<uint16_t, uint16_t, Bf16OfF16>());
      break;
    case Conversion::Kind::F32ToF16:
      use(FloatRule<uint32_t, uint16_t, F16OfF32>());
      break;
    case Conversion::Kind::Bf16ToF16:
      use(FloatRule<uint16_t, uint16_t, F16OfBf16>());
      break;
    case Conversion::Kind::Bf16ToF32:
      use(FloatRule<uint16_t, uint32_t, F32OfBf16>());
      break;
    case Conversion::Kind::F16ToF32:
      use(FloatRule<uint16_t, uint32_t, F32OfF16>());
      break;
  }
}

}  // namespace etc::runtime
