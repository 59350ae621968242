// The roles of a persistent CTA and what they share: a loader warp fills a ring of slots in shared
// memory, the consumer warps empty it. docs/kernels.md is the contract.
#pragma once

#include "arch/barrier.cuh"
#include "arch/clock.cuh"
#include "arch/copy.cuh"
#include "arch/types.cuh"

#ifndef ETC_CONSUMER_WARPS
#define ETC_CONSUMER_WARPS 8
#endif

namespace etc {

/// Where a role stands in the ring. Two barriers for each slot: full, then empty.
struct Ring {
  u32 first_slot, first_barrier, end_barrier, stride;
  u32 slot, barrier, parity = 0;

  ETC_DEVICE u32 Full() const { return barrier; }
  ETC_DEVICE u32 Empty() const { return barrier + 8; }
  ETC_DEVICE void Advance() {
    slot += stride;
    barrier += 16;
    if (barrier == end_barrier) {
      slot = first_slot;
      barrier = first_barrier;
      parity ^= 1;
    }
  }
};

struct Loader {
  int lane;
  Ring ring;
  u64 policy;
  Ring landing;  // the oldest slot that may still be on its way
  // A full queue of weight reads delays the signals and activations that other CTAs wait for, and
  // so does a burst of them.
  int cap;  // slots that may be on their way at once
  int gap;  // the least number of clock cycles from one slot's issue to the next
  int in_flight = 0;
  u32 issued = 0;  // the clock at the last issue

  /// Waits for a free slot, and for its turn; gives its shared address. For all lanes.
  ETC_DEVICE u32 Acquire() {
    if (in_flight < cap) {
      ++in_flight;
    } else {
      BarrierWait(landing.Full(), landing.parity);
      landing.Advance();
    }
    BarrierWait(ring.Empty(), ring.parity ^ 1);
    if (gap > 0) {
      while (Clock() - issued < u32(gap)) {
      }
      issued = Clock();
    }
    return ring.slot;
  }
  /// Announces all bytes that will be copied into the slot; for all lanes, before the copies.
  ETC_DEVICE void Expect(int bytes) {
    if (lane == 0) {
      BarrierArriveExpect(ring.Full(), bytes);
    }
    __syncwarp();
  }
  /// Copies into the slot; for all lanes, with the same arguments: one of them issues it.
  ETC_DEVICE void Copy(u32 destination, const void* source, int bytes) {
    BulkCopyElected(destination, source, bytes, ring.Full(), policy);
  }
  /// Moves on to the next slot; for all lanes.
  ETC_DEVICE void Advance() { ring.Advance(); }
};

struct Consumer {
  static constexpr int kWarps = ETC_CONSUMER_WARPS;
  static constexpr int kThreads = kWarps * 32;

  int thread, warp, lane;
  char* scratch;
  char* slots;
  u32 zero;  // 0, which the compiler does not know
  Ring ring;

  /// Waits until the next slot is full; each warp on its own. WaitAddress gives its shared address.
  ETC_DEVICE u32 WaitAddress() {
    BarrierWait(ring.Full(), ring.parity);
    return ring.slot;
  }
  ETC_DEVICE const char* Wait() {
    u32 address = WaitAddress();
    return slots + (address - ring.first_slot);
  }
  /// This warp is done with the slot; moves on to the next. `read` is any value made of everything
  /// that this lane loaded from it: an arrive waits until earlier loads are issued, not until they
  /// have their data, so it is given an operand that does.
  ETC_DEVICE void Release(u32 read) {
    __syncwarp();
    if (lane == 0) {
      BarrierArrive(ring.Empty() + (read & zero));
    }
    ring.Advance();
  }
  /// A barrier of all consumer threads.
  ETC_DEVICE void Sync() { NamedBarrierSync<1, kThreads>(); }
};

// A kernel's Prefetch is optional; the argument of type int prefers the overload that calls it.
template <class Kernel, class Args, class... Coordinates>
ETC_DEVICE auto PrefetchTask(int, const Consumer& consumer, const Args& args, Coordinates... task)
    -> decltype(Kernel::Prefetch(consumer, args, int(task)...)) {
  Kernel::Prefetch(consumer, args, int(task)...);
}
template <class Kernel, class Args, class... Coordinates>
ETC_DEVICE void PrefetchTask(long, const Consumer&, const Args&, Coordinates...) {}

/// Carves the dynamic shared memory of a CTA: ring, scratch, barriers. kSlotBytes is 0 without a
/// ring.
template <int kSlotBytes, int kScratchBytes, int kSharedBytes>
struct Block {
  static constexpr int kThreads = Consumer::kThreads + 32;
  static constexpr int kRingSlotBytes = (kSlotBytes + 127) / 128 * 128;
  static constexpr int kScratch = (kScratchBytes + 127) / 128 * 128;
  static constexpr int kSlots =
      kSlotBytes == 0 ? 0 : (kSharedBytes - kScratch) / (kRingSlotBytes + 16);
  static_assert(kScratch <= kSharedBytes, "the scratch does not fit into shared memory");
  static_assert(kSlotBytes == 0 || kSlots >= 2, "shared memory has no room for two ring slots");

  char* shared;

  /// For all threads of the CTA; ends with a barrier of all of them.
  ETC_DEVICE Block() {
    extern __shared__ __align__(1024) char etc_shared[];
    shared = etc_shared;
    if (threadIdx.x == 0) {
      u32 barrier = FirstBarrier();
#pragma unroll 1
      for (int slot = 0; slot < kSlots; ++slot, barrier += 16) {
        BarrierInit(barrier, 1);
        BarrierInit(barrier + 8, Consumer::kWarps);
      }
      BarrierInitFence();
    }
    __syncthreads();
  }

  ETC_DEVICE bool IsLoader() const { return threadIdx.x >= Consumer::kThreads; }

  /// With as many slots on their way at once as there are, and no gap, nothing holds it back.
  ETC_DEVICE Loader MakeLoader(int cap = kSlots, int gap = 0) const {
    // More in flight than the ring has slots would be waited for in vain.
    return Loader{int(threadIdx.x) % 32,       MakeRing(), EvictFirstPolicy(), MakeRing(),
                  cap < kSlots ? cap : kSlots, gap};
  }
  ETC_DEVICE Consumer MakeConsumer() const {
    int thread = int(threadIdx.x);
    // The same for all lanes, which the compiler cannot know of a division.
    int warp = __shfl_sync(0xffffffffu, thread / 32, 0);
    // The grid has one dimension.
    u32 zero = blockIdx.y;
    return Consumer{thread, warp, thread % 32, shared + kSlots * kRingSlotBytes,
                    shared, zero, MakeRing()};
  }

 private:
  ETC_DEVICE u32 FirstBarrier() const {
    return SharedAddress(shared) + kSlots * kRingSlotBytes + kScratch;
  }
  ETC_DEVICE Ring MakeRing() const {
    Ring ring;
    ring.first_slot = ring.slot = SharedAddress(shared);
    ring.first_barrier = ring.barrier = FirstBarrier();
    ring.end_barrier = ring.first_barrier + kSlots * 16;
    ring.stride = kRingSlotBytes;
    return ring;
  }
};

}  // namespace etc
