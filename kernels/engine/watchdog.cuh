// Waits for events that end where nothing happens.
#pragma once

#include "arch/sm90/memory.cuh"
#include "arch/sm90/registers.cuh"
#include "engine/events.cuh"
#include "engine/stalled.cuh"

namespace etc {

/// Events::WaitOne, but the thread asks `gives_up` now and then. What a wait that does not last
/// pays for it is to count its looks.
template <class Role, class GivesUp>
ETC_DEVICE void WaitWatched(const Events& events, const Role& role, i64 index, u32 count,
                            GivesUp gives_up) {
  constexpr u32 kLooks = 4096;  // some milliseconds
  if (role.thread == 0) {
    Stalled wait{events.header, Opaque(count)};
    for (u32 looks = 1; (wait.seen = LoadAcquire(events.Counter(index))) < wait.count; ++looks) {
      if (looks % kLooks == 0) {
        wait.Look(Nanoseconds(), true);
        if (gives_up(wait)) {
          break;
        }
      }
    }
  }
}

}  // namespace etc
