// The ring of a persistent CTA, slots in shared memory, and the loader warp that fills it.
// docs/kernels.md is the contract.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/barrier.cuh"
#include "arch/sm90/clock.cuh"
#include "arch/sm90/copy.cuh"

namespace etc {

/// Where a role stands in the ring. Two barriers for each slot: full, then empty.
struct Ring {
  u32 first_slot, first_barrier, end_barrier, stride;
  u32 slot, barrier, parity = 0;

  ETC_DEVICE u32 Full() const { return barrier; }
  ETC_DEVICE u32 Empty() const { return barrier + 8; }
  ETC_DEVICE int Index() const { return int(barrier - first_barrier) / 16; }
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
  static constexpr int kNoLimit = 1 << 30;
  static constexpr int kMostPrefetched = 16;  // slots: of 16 KB, two thirds of L2 for all SMs

  int thread, lane;
  Ring ring;
  u64 policy;
  Ring landing;  // the oldest slot that may still be on its way
  int slots;     // of the ring
  int in_flight_limit;
  int ahead = 0;
  u32 first = 0, first_parity = 0;  // the barrier of the share's first slot; 0: none yet
  bool begun = true;
  int interval = 0;
  int in_flight = 0;
  u32 issued = 0;      // the clock at the last issue
  int pause = 0;       // between two prefetches; 0: there are none
  int prefetched = 0;  // slots, from the next one on
  u32 asked = 0;       // the clock at the last prefetch

  /// A full queue of weight reads delays the signals and activations that other CTAs wait for, and
  /// so does a burst of them: most_in_flight slots may be on their way at once, and from one slot's
  /// issue to the next pass least_interval clock cycles or more. More in flight than the ring has
  /// slots would be waited for in vain. Once in a share: until the consumers have given back its
  /// first slot, only most_ahead may be on their way, as those before are still storing what others
  /// wait for. While the ring is full, L2 may be asked for another slot each prefetch_pause cycles.
  ETC_DEVICE void SetThrottle(int most_in_flight, int least_interval, int most_ahead = kNoLimit,
                              int prefetch_pause = 0) {
    in_flight_limit = min(most_in_flight, slots);
    interval = least_interval;
    pause = prefetch_pause;
    ahead = min(most_ahead, in_flight_limit);
    first = 0;
    begun = ahead == in_flight_limit;
  }
  /// Waits for a free slot, and for its turn; gives its shared address. For all lanes.
  ETC_DEVICE u32 Acquire() {
    return Acquire(0, [](int) {});
  }
  /// The same. `prefetch(i)` has L2 fetch what a task copies into slot `i` from this one on, of
  /// `left` slots; for all lanes.
  template <class Prefetch>
  ETC_DEVICE u32 Acquire(int left, const Prefetch& prefetch) {
    begun = begun || (first != 0 && __all_sync(0xffffffffu, BarrierTest(first, first_parity)));
    for (int most = begun ? in_flight_limit : ahead; in_flight >= most; --in_flight) {
      BarrierWait(landing.Full(), landing.parity);
      landing.Advance();
    }
    ++in_flight;
    if (pause > 0) {
      PrefetchWhileFull(left, prefetch);
    }
    BarrierWait(ring.Empty(), ring.parity ^ 1);
    if (first == 0) {
      first = ring.Empty();
      first_parity = ring.parity;
    }
    if (interval > 0) {
      while (Clock() - issued < u32(interval)) {
      }
      issued = Clock();
    }
    return ring.slot;
  }
  /// Announces all bytes that will be copied into the slot; for all lanes, before the copies. None
  /// end the phase at once: then all lanes must have seen the one before, so `Sync` comes first.
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
  /// A barrier of all threads of this role.
  ETC_DEVICE void Sync() { __syncwarp(); }

 private:
  /// Memory is idle then. A prefetch right behind the other would delay what the consumers wait
  /// for.
  template <class Prefetch>
  ETC_DEVICE void PrefetchWhileFull(int left, const Prefetch& prefetch) {
    const int most = min(left, kMostPrefetched);
    while (prefetched < most &&
           !__all_sync(0xffffffffu, BarrierTest(ring.Empty(), ring.parity ^ 1))) {
      if (__all_sync(0xffffffffu, Clock() - asked >= u32(pause))) {
        asked = Clock();
        prefetch(prefetched++);
      }
    }
    prefetched = max(0, prefetched - 1);
  }
};

}  // namespace etc
