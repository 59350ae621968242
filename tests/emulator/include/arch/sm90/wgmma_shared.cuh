// Emulated: see kernels/arch/sm90/wgmma_shared.cuh.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/wgmma.cuh"

namespace etc {

template <int columns>
struct WgmmaShared {
  static ETC_DEVICE void Multiply(float (&d)[columns / 2], u64 a, u64 b, bool adds) {
    emulator::WgmmaMultiplyShared(d, a, b, columns, adds);
  }
};

}  // namespace etc
