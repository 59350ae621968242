// Waits for events that end where nothing happens.
#pragma once

#include "arch/sm90/memory.cuh"
#include "arch/sm90/registers.cuh"
#include "engine/events.cuh"
#include "engine/stalled.cuh"

namespace etc {

/// WaitOne of the events, but the thread asks `gives_up` now and then. What a wait that does not
/// last pays for it is to count its looks.
template <class AnyEvents, class Role, class GivesUp>
ETC_DEVICE void WaitWatched(const AnyEvents& events, const Role& role, i64 index, u32 count,
                            GivesUp gives_up) {
  constexpr u32 kLooks = 4096;  // some milliseconds
  if (role.thread == 0) {
    Stalled wait{events.header, Opaque(count)};
    for (u32 looks = 1; (wait.seen = events.Notified(index)) < wait.count; ++looks) {
      if (looks % kLooks == 0) {
        wait.Look(Nanoseconds(), true);
        if (gives_up(wait)) {
          break;
        }
      }
    }
  }
}

/// Await of the peers, but each thread that polls asks `gives_up` now and then, with a bit for each
/// rank that has not begun the launch.
template <class AnyPeers, class Role, class GivesUp>
ETC_DEVICE void AwaitPeersWatched(const AnyPeers& peers, const Role& role, const Events& events,
                                  GivesUp gives_up) {
  constexpr u32 kLooks = 4096;
  if (role.thread < peers.ranks) {
    Stalled wait{events.header, peers.NumberOf(events.header)};
    for (u32 looks = 1; !peers.HasBegun(role.thread, wait.count); ++looks) {
      if (looks % kLooks == 0) {
        u64 late = 0;
        for (i64 peer = 0; peer < peers.ranks; ++peer) {
          late |= u64(!peers.HasBegun(peer, wait.count)) << peer;
        }
        wait.Look(Nanoseconds(), true);
        if (gives_up(wait, late)) {
          break;
        }
      }
    }
  }
}

/// Waits until a place of a queue is full that so many tasks are pushed to, of which `tail` counts
/// those that were. For one thread. Gives the word, or 0 where it gives up.
template <class GivesUp>
ETC_DEVICE u32 AwaitPlace(const Events& events, const u32* place, const u32* tail, i64 tasks,
                          GivesUp gives_up) {
  constexpr u32 kLooks = 4096;
  Stalled wait{events.header, u32(tasks)};
  u32 word;
  for (u32 looks = 1; (word = LoadRelaxed(place)) == 0; ++looks) {
    if (looks % kLooks == 0) {
      wait.seen = LoadRelaxed(tail);
      wait.Look(Nanoseconds(), true);
      if (gives_up(wait)) {
        break;
      }
    }
    PollAgain();
  }
  return word;
}

}  // namespace etc
