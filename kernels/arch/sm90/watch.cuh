// What a watchdog needs: a clock of the whole device, and words of 64 bits that CTAs agree in.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

/// Since some time in the past; the same on all SMs.
ETC_DEVICE u64 Nanoseconds() {
  u64 nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

// Relaxed at GPU scope: the word alone is agreed in, nothing is ordered by it.
ETC_DEVICE u64 LoadRelaxed(const u64* address) {
  u64 value;
  asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}
ETC_DEVICE void MaxRelaxed(u64* address, u64 value) {
  asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

}  // namespace etc
