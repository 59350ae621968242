// Emulated: see kernels/arch/sm90/mma.cuh.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE void MmaBf16(float (&c)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  emulator::MultiplyWarp(c, {a0, a1, a2, a3}, {b0, b1});
}
ETC_DEVICE u32 Transpose8x8(u32 rows) { return emulator::Transpose8x8(rows); }

}  // namespace etc
