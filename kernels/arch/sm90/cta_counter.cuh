// Counters in shared memory that warps of one CTA wait for.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

// Acquire at CTA scope: reads that follow see what threads of the CTA wrote before the release that
// made the count, to global memory, too. They go through one L1, so no line of it is given up.
ETC_DEVICE u32 LoadAcquireCta(u32 address) {
  u32 value;
  asm volatile("ld.acquire.cta.shared.b32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

// Release at CTA scope; after a barrier of the threads of a role it covers the writes of them all.
ETC_DEVICE void AddReleaseCta(u32 address, u32 amount) {
  asm volatile("red.release.cta.shared.add.u32 [%0], %1;" ::"r"(address), "r"(amount) : "memory");
}

}  // namespace etc
