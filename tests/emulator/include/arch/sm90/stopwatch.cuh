// Emulated: see kernels/arch/sm90/stopwatch.cuh. All SMs have one clock.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/launch.cuh"
#include "arch/sm90/mbarrier.cuh"

namespace etc {

ETC_DEVICE u32 Ticks() { return u32(emulator::Ticks()); }
ETC_DEVICE u64 GlobalTime() { return emulator::Ticks(); }
ETC_DEVICE u32 SmNumber() { return blockIdx.x; }
ETC_DEVICE u32 EndOfShared(int bytes) {
  return SharedAddress(LaunchSharedMemory()) + ((emulator::SharedBytes() - u32(bytes)) & ~15u);
}
ETC_DEVICE void StoreStreaming(void* address, Vec4 value) {
  emulator::CheckGlobal("StoreStreaming", address, 16);
  *static_cast<Vec4*>(address) = value;
}

ETC_DEVICE void StoreSharedByte(u32 address, u32 value) {
  *emulator::SharedStore("StoreSharedByte", address, 1) = char(value);
}
ETC_DEVICE u32 LoadSharedByte(u32 address) {
  return static_cast<unsigned char>(*emulator::Shared("LoadSharedByte", address, 1));
}
ETC_DEVICE void Nap() { emulator::PollAgain("Nap"); }

}  // namespace etc
