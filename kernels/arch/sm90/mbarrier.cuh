// Barriers inside one CTA: mbarriers in shared memory, and named hardware barriers.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

/// The address of shared memory as the instructions of this layer take it.
ETC_DEVICE u32 SharedAddress(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

ETC_DEVICE void BarrierInit(u32 barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes initialised barriers visible to the bulk copy engine; the CTA's own barrier comes after.
ETC_DEVICE void BarrierInitFence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Its memory may be used for something else.
ETC_DEVICE void BarrierInvalidate(u32 barrier) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// Arrives with release order at CTA scope: what this thread read or wrote before stays before.
ETC_DEVICE void BarrierArrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and makes the phase wait for so many bytes of bulk copies too.
ETC_DEVICE void BarrierArriveExpect(u32 barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// Acquire order at CTA scope. The instruction itself sleeps for a while before it gives up.
ETC_DEVICE void BarrierWait(u32 barrier, u32 parity) {
  u32 done;
  do {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (!done);
}

/// Whether BarrierWait would return at once.
ETC_DEVICE bool BarrierTest(u32 barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

/// A barrier of the CTA's first `threads` threads that leaves the other warps alone.
template <int id, int threads>
ETC_DEVICE void NamedBarrierSync() {
  asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory");
}

/// The same for warps that know only at run time which barrier is theirs.
template <int threads>
ETC_DEVICE void NamedBarrierSync(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(threads) : "memory");
}

}  // namespace etc
