#include "runtime/weights/convert.h"

#include <cstring>

#include "runtime/dtype.h"
#include "runtime/weights/safetensors.h"

namespace etc::runtime {
namespace {

using Kind = Conversion::Kind;

struct DTypeNames {
  std::string_view safetensors;
  etc_dtype dtype;
};
constexpr DTypeNames kNames[] = {
    {"F64", ETC_F64},        {"F32", ETC_F32},        {"F16", ETC_F16}, {"BF16", ETC_BF16},
    {"F8_E4M3", ETC_F8E4M3}, {"F8_E5M2", ETC_F8E5M2}, {"I64", ETC_I64}, {"I32", ETC_I32},
    {"I8", ETC_I8},          {"U32", ETC_U32},        {"U16", ETC_U16}, {"U8", ETC_U8},
    {"BOOL", ETC_BOOL}};

struct FloatPair {
  std::string_view from;
  etc_dtype to;
  Kind kind;
};
constexpr FloatPair kFloatPairs[] = {
    {"F32", ETC_BF16, Kind::F32ToBf16}, {"F16", ETC_BF16, Kind::F16ToBf16},
    {"F32", ETC_F16, Kind::F32ToF16},   {"BF16", ETC_F16, Kind::Bf16ToF16},
    {"BF16", ETC_F32, Kind::Bf16ToF32}, {"F16", ETC_F32, Kind::F16ToF32}};

constexpr uint32_t kF32Infinity = 0x7f800000;

float AsFloat(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
uint32_t BitsOf(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

uint32_t F32OfBf16(uint16_t bits) { return uint32_t{bits} << 16; }

uint32_t F32OfF16(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000U} << 16;
  const uint32_t magnitude = half & 0x7fffU;
  if (magnitude >= 0x7c00) {
    return sign | kF32Infinity | (magnitude & 0x3ff) << 13;
  }
  // The exponents of f16 end 112 earlier; a product by a power of two is exact, subnormals
  // included.
  return sign | BitsOf(AsFloat(magnitude << 13) * 0x1p112F);
}

uint16_t Bf16OfF32(uint32_t bits) {
  if ((bits & ~0x80000000U) > kF32Infinity) {
    return static_cast<uint16_t>(bits >> 16 | 0x40);  // a quiet NaN
  }
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint16_t F16OfF32(uint32_t bits) {
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

template <class From, class To, class Function>
void Each(const char* from, int64_t elements, char* to, Function function) {
  for (int64_t i = 0; i < elements; ++i) {
    From given;
    std::memcpy(&given, from + i * static_cast<int64_t>(sizeof(From)), sizeof(From));
    const To made = function(given);
    std::memcpy(to + i * static_cast<int64_t>(sizeof(To)), &made, sizeof(To));
  }
}

}  // namespace

Conversion FindConversion(std::string_view from, etc_dtype to) {
  Conversion conversion;
  conversion.from_bytes = BytesOfSafetensorsDType(from);
  conversion.to_bytes = FindDType(to)->bytes;
  for (const DTypeNames& names : kNames) {
    if (names.safetensors == from && names.dtype == to) {
      conversion.kind = Kind::Copy;
    }
  }
  for (const FloatPair& pair : kFloatPairs) {
    if (pair.from == from && pair.to == to) {
      conversion.kind = pair.kind;
    }
  }
  return conversion;
}

void Convert(const Conversion& conversion, const char* from, int64_t elements, char* to) {
  switch (conversion.kind) {
    case Kind::None:
      break;
    case Kind::Copy:
      std::memcpy(to, from, static_cast<size_t>(elements * conversion.to_bytes));
      break;
    case Kind::F32ToBf16:
      Each<uint32_t, uint16_t>(from, elements, to, Bf16OfF32);
      break;
    case Kind::F16ToBf16:
      Each<uint16_t, uint16_t>(from, elements, to,
                               [](uint16_t half) { return Bf16OfF32(F32OfF16(half)); });
      break;
    case Kind::F32ToF16:
      Each<uint32_t, uint16_t>(from, elements, to, F16OfF32);
      break;
    case Kind::Bf16ToF16:
      Each<uint16_t, uint16_t>(from, elements, to,
                               [](uint16_t bits) { return F16OfF32(F32OfBf16(bits)); });
      break;
    case Kind::Bf16ToF32:
      Each<uint16_t, uint32_t>(from, elements, to, F32OfBf16);
      break;
    case Kind::F16ToF32:
      Each<uint16_t, uint32_t>(from, elements, to, F32OfF16);
      break;
  }
}

}  // namespace etc::runtime
