// Products whose operands the tensor cores both read in the ring. A slot is given back when the
// instructions behind it are issued, so that the tensor cores always have a group waiting.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/wgmma_shared.cuh"
#include "engine/roles.cuh"

namespace etc {

/// The tensor cores no longer read the oldest slot in use.
ETC_DEVICE void GiveBack(const Consumer& consumer, Ring& used) {
  BarrierArriveWarp(used.Empty(), consumer.lane);
  used.Advance();
}

/// Waits for so many slots, one after the other, and calls `issue(slot, step)`, which issues the
/// instructions of this warpgroup. Calls each `advance()` when those of the step before are done.
template <class Issue, class... Advance>
ETC_DEVICE void MultiplySlots(Consumer& consumer, int steps, const Issue& issue,
                              const Advance&... advance) {
  Ring used = consumer.ring;  // the oldest slot that instructions may still read
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    u32 slot = consumer.WaitAddress();
    consumer.ring.Advance();
    WgmmaFence();
    issue(slot, step);
    WgmmaCommit();
    if (step > 0) {
      WgmmaWait<1>();
      GiveBack(consumer, used);
    }
    (advance(), ...);
  }
  WgmmaWait<0>();
  GiveBack(consumer, used);
}

}  // namespace etc
