// The SM's clock.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

/// Cycles; wraps around.
ETC_DEVICE u32 Clock() {
  u32 cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles));
  return cycles;
}

}  // namespace etc
