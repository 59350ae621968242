// Words that several devices look at: the loads and stores of memory.cuh at the scope of the whole
// system.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE u32 LoadAcquireSystem(const u32* address) {
  u32 value;
  asm volatile("ld.acquire.sys.global.b32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

// A fence in front of several stores or adds, each of which would else wait by itself until all
// before it has reached its device, the one before it too.
ETC_DEVICE void FenceSystem() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

ETC_DEVICE void StoreRelaxedSystem(u32* address, u32 word) {
  asm volatile("st.relaxed.sys.global.b32 [%0], %1;" ::"l"(address), "r"(word) : "memory");
}

ETC_DEVICE void AddRelaxedSystem(u32* address, u32 amount) {
  asm volatile("red.relaxed.sys.global.add.u32 [%0], %1;" ::"l"(address), "r"(amount) : "memory");
}

// After a barrier of the CTA it covers the writes of every thread in it, to whichever device.
ETC_DEVICE void AddReleaseSystem(u32* address, u32 amount) {
  asm volatile("red.release.sys.global.add.u32 [%0], %1;" ::"l"(address), "r"(amount) : "memory");
}

}  // namespace etc
