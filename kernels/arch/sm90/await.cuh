// Waits for a word that a thread of another CTA changes. The host target has its own, where the
// waiting thread sleeps.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"

namespace etc {

// Acquires what was stored before the change.
ETC_DEVICE void AwaitChange(const u32* address, u32 seen) {
  while (LoadAcquire(address) == seen) {
    PollAgain();
  }
}

// Behind a change: here nobody sleeps.
ETC_DEVICE void WakeAll(u32*) {}

}  // namespace etc
