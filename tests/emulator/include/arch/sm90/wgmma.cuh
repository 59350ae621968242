// Emulated: see kernels/arch/sm90/wgmma.cuh.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/descriptor.cuh"

namespace etc {

ETC_DEVICE void WgmmaFence() { emulator::WgmmaFence(); }
ETC_DEVICE void WgmmaCommit() { emulator::WgmmaCommit(); }
template <int pending>
ETC_DEVICE void WgmmaWait() {
  emulator::WgmmaWait(pending);
}
ETC_DEVICE void WgmmaSharedFence() { emulator::WgmmaSharedFence(); }

template <int columns>
struct Wgmma {
  static ETC_DEVICE void Multiply(float (&d)[columns / 2], const u32 (&a)[4], u64 b) {
    emulator::WgmmaMultiply(d, a, b, columns);
  }
};

}  // namespace etc
