// Barriers inside one CTA, and who arrives at them.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/mbarrier.cuh"

namespace etc {

// Where threads arrive together after a barrier of theirs, one arrives for all. A tool that follows
// single threads sees no order in that, and of a warp's barrier the compiler may leave no
// instruction for it to see; so in debug builds each thread arrives.
#ifdef ETC_DEBUG_CHECKS
constexpr bool kEachThreadArrives = true;
#else
constexpr bool kEachThreadArrives = false;
#endif

/// How many arrivals a barrier counts for `threads` threads that arrive together.
ETC_DEVICE constexpr int Arrivals(int threads) { return kEachThreadArrives ? threads : 1; }

/// Arrives for a whole warp, as Arrivals(32): what its lanes read or wrote before stays before.
ETC_DEVICE void BarrierArriveWarp(u32 barrier, int lane) {
  __syncwarp();
  if (kEachThreadArrives || lane == 0) {
    BarrierArrive(barrier);
  }
}

}  // namespace etc
