// Emulated: see kernels/arch/sm90/cta_counter.cuh.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE u32 LoadAcquireCta(u32 address) {
  return emulator::LoadAcquire(
      reinterpret_cast<const u32*>(emulator::Shared("LoadAcquireCta", address, 4)));
}
ETC_DEVICE void AddReleaseCta(u32 address, u32 amount) {
  *reinterpret_cast<u32*>(emulator::SharedStore("AddReleaseCta", address, 4)) += amount;
  emulator::Progress();
}

}  // namespace etc
