// Emulated: see kernels/arch/sm90/watch.cuh.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE u64 Nanoseconds() { return emulator::Nanoseconds(); }

ETC_DEVICE u64 LoadRelaxed(const u64* address) {
  emulator::CheckGlobal("LoadRelaxed", address, 8);
  return *address;
}
ETC_DEVICE void MaxRelaxed(u64* address, u64 value) {
  emulator::CheckGlobal("MaxRelaxed", address, 8);
  *address = *address < value ? value : *address;
  emulator::Progress();
}

}  // namespace etc
