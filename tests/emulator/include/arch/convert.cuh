// Emulated: see kernels/arch/convert.cuh.
#pragma once

#include "arch/names.cuh"

namespace etc {

ETC_DEVICE float FloatOfF16(u16 bits) { return float(std::bit_cast<_Float16>(bits)); }
ETC_DEVICE u16 F16OfFloat(float value) {
  return std::isnan(value) ? u16(0x7fff) : std::bit_cast<u16>(_Float16(value));
}
ETC_DEVICE u16 Bf16OfFloat(float value) {
  const u32 bits = std::bit_cast<u32>(value);
  return std::isnan(value) ? u16(0x7fff) : u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
ETC_DEVICE u32 PackBf16(float low, float high) {
  return u32(Bf16OfFloat(high)) << 16 | Bf16OfFloat(low);
}

}  // namespace etc
