#include "runtime/weights/convert.h"

#include <cstring>

#include "runtime/dtype.h"
#include "runtime/weights/float_rules.h"
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

/// Of memory that is not aligned.
template <class Rule>
void ConvertEach(const char* from, int64_t elements, char* to) {
  using From = typename Rule::From;
  using To = typename Rule::To;
  for (int64_t i = 0; i < elements; ++i) {
    From given;
    std::memcpy(&given, from + i * static_cast<int64_t>(sizeof(From)), sizeof(From));
    const To made = Rule::Of(given);
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
  if (conversion.kind == Kind::Copy) {
    std::memcpy(to, from, static_cast<size_t>(elements * conversion.to_bytes));
    return;
  }
  WithFloatRule(conversion.kind,
                [&](auto rule) { ConvertEach<decltype(rule)>(from, elements, to); });
}

}  // namespace etc::runtime
