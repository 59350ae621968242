// In front of everything else of a profiled kernel: waits at the barriers between roles say that
// they wait, and a thread without a role looks at the clock for them.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/mbarrier.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/stopwatch.cuh"

#ifndef ETC_CONSUMER_WARPS
#define ETC_CONSUMER_WARPS 8
#endif

namespace etc {

/// At the end of the launch's shared memory.
struct ProfileState {
  static constexpr int kRoles = 3;
  static constexpr int kAll = 64;
  static constexpr int kWaits = 16;  // a byte for each warp: whether it waits
  static constexpr int kWarps = ETC_CONSUMER_WARPS + 4;
  static constexpr int kEnded = 48;  // a word for each role: whether it has ended
  static_assert(kRoles * 4 <= kWaits && kWaits + kWarps <= kEnded, "the parts do not overlap");

  static ETC_DEVICE u32 Begin() { return EndOfShared(kAll); }
  /// The ticks that a role has waited so far.
  static ETC_DEVICE u32 Waited(int role) { return Begin() + role * 4; }
  static ETC_DEVICE u32 Waits(int warp) { return Begin() + kWaits + warp; }
  /// The warp whose waits are those of a role: its first.
  static ETC_DEVICE constexpr int WarpOf(int role) {
    return role == 0 ? 0 : ETC_CONSUMER_WARPS + role - 1;
  }
  static ETC_DEVICE u32 Ended(int role) { return Begin() + kEnded + role * 4; }
};

/// Nothing stands between the end of the wait and what comes behind but a store that nobody waits
/// for: to read the clock here would delay what other roles and SMs wait for.
ETC_DEVICE void AnnouncedBarrierWait(u32 barrier, u32 parity) {
  const u32 waits = ProfileState::Waits(int(threadIdx.x) / 32);
  StoreSharedByte(waits, 1);
  BarrierWait(barrier, parity);
  StoreSharedByte(waits, 0);
}

}  // namespace etc

#define BarrierWait AnnouncedBarrierWait
