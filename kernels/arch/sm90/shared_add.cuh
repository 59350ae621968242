// Additions to words of shared memory by several threads at once, in no order. A barrier of the
// threads comes before and behind them.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE void AddShared(u32 address, u32 amount) {
  asm volatile("red.relaxed.cta.shared.add.u32 [%0], %1;" ::"r"(address), "r"(amount) : "memory");
}

// What the word was before.
ETC_DEVICE u32 FetchAddShared(u32 address, u32 amount) {
  u32 previous;
  asm volatile("atom.relaxed.cta.shared.add.u32 %0, [%1], %2;"
               : "=r"(previous)
               : "r"(address), "r"(amount)
               : "memory");
  return previous;
}

}  // namespace etc
