// Emulated: see kernels/arch/sm90/shared_add.cuh.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE u32 FetchAddShared(u32 address, u32 amount) {
  u32* word = reinterpret_cast<u32*>(emulator::SharedStore("FetchAddShared", address, 4));
  const u32 previous = *word;
  *word += amount;
  return previous;
}
ETC_DEVICE void AddShared(u32 address, u32 amount) { FetchAddShared(address, amount); }

}  // namespace etc
