// In front of everything else of a profiled kernel: waits at the barriers between roles add up how
// long they took, by one thread of each role.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/mbarrier.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/stopwatch.cuh"

#ifndef ETC_CONSUMER_WARPS
#define ETC_CONSUMER_WARPS 8
#endif

namespace etc {

/// Of a role, at the end of the launch's shared memory: where its next record goes, how many there
/// is room for, when the task began, and the ticks that it has waited inside of the task so far.
struct ProfileState {
  static constexpr int kBytes = 32;
  static constexpr int kAll = 128;
  static constexpr int kBegun = 12;
  static constexpr int kData = 16;  // the ticks of waits for data, behind them those for signals

  static ETC_DEVICE u32 Of(int role) { return EndOfShared(kAll) + role * kBytes; }
};

ETC_DEVICE void TimedBarrierWait(u32 barrier, u32 parity) {
  const int warp = int(threadIdx.x) / 32;
  if (warp > 0 && warp < ETC_CONSUMER_WARPS) {
    BarrierWait(barrier, parity);
    return;
  }
  if (BarrierTest(barrier, parity)) {
    return;  // as most do: without a look at the clock
  }
  const u32 begun = Ticks();
  BarrierWait(barrier, parity);
  const u32 took = Ticks() - begun;
  if (threadIdx.x % 32 == 0) {
    const u32 waited =
        ProfileState::Of(warp == 0 ? 0 : warp - ETC_CONSUMER_WARPS + 1) + ProfileState::kData;
    StoreShared(waited, LoadSharedWord(waited) + took);
  }
}

}  // namespace etc

#define BarrierWait TimedBarrierWait
