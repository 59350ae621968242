// Event counters in the shared memory of a CTA: of events of which each element is notified and
// waited for on one SM. Shared memory begins anew with each launch, so there is one set.
// docs/events-of-an-sm.md says what orders the data.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/cta_counter.cuh"
#include "arch/sm90/launch.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/events.cuh"

namespace etc {

struct CtaEvents {
  u32* header;  // of the counters in global memory
  u32 first;    // the shared address of the counters, a word for each

  ETC_DEVICE CtaEvents(const Events& events, int begin)
      : header(events.header), first(SharedAddress(LaunchSharedMemory()) + u32(begin)) {}

  /// For all threads of the CTA, before the barrier of Block.
  ETC_DEVICE void Clear(int counters) const {
    for (int i = int(threadIdx.x); i < counters; i += int(blockDim.x)) {
      StoreShared(Counter(i), u32(0));
    }
  }

  ETC_DEVICE u32 Counter(i64 index) const { return first + u32(index) * 4; }

  /// How many notifies of the event have come.
  ETC_DEVICE u32 Notified(i64 index) const { return LoadAcquireCta(Counter(index)); }

  /// As in Events.
  template <class Role>
  ETC_DEVICE void WaitOne(const Role& role, i64 index, u32 count) const {
    if (role.thread == 0) {
      while (Notified(index) < count) {
      }
    }
  }
  template <class Role>
  ETC_DEVICE void NotifyOne(const Role& role, i64 index, u32 amount) const {
    if (role.thread == 0) {
      AddReleaseCta(Counter(index), amount);
    }
  }
};

}  // namespace etc
