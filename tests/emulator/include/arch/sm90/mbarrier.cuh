// Emulated: see kernels/arch/sm90/mbarrier.cuh.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE u32 SharedAddress(const void* pointer) { return emulator::SharedAddress(pointer); }
ETC_DEVICE void BarrierInit(u32 barrier, int arrivals) { emulator::BarrierInit(barrier, arrivals); }
ETC_DEVICE void BarrierInvalidate(u32 barrier) { emulator::BarrierInvalidate(barrier); }
ETC_DEVICE void BarrierInitFence() {}
ETC_DEVICE void BarrierArrive(u32 barrier) { emulator::BarrierArrive(barrier, 0); }
ETC_DEVICE void BarrierArriveExpect(u32 barrier, int bytes) {
  emulator::BarrierArrive(barrier, bytes);
}
ETC_DEVICE void BarrierWait(u32 barrier, u32 parity) { emulator::BarrierWait(barrier, parity); }
ETC_DEVICE bool BarrierTest(u32 barrier, u32 parity) {
  return emulator::BarrierTest(barrier, parity);
}
template <int id, int threads>
ETC_DEVICE void NamedBarrierSync() {
  emulator::SyncNamed(id, threads);
}
template <int threads>
ETC_DEVICE void NamedBarrierSync(int id) {
  emulator::SyncNamed(id, threads);
}

}  // namespace etc
