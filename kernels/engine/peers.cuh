// What one rank of a program with a mesh reaches of the others: docs/multi-gpu.md.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/flagged.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/phased.cuh"
#include "arch/sm90/system.cuh"
#include "engine/events.cuh"

namespace etc {

/// An operand that an implementation writes at peers, itself among them. `own` is that of its own
/// rank, and Peers::Moved makes it that of a peer.
template <class Pointer>
struct AtPeers {
  Pointer own;
};

/// The symmetric memory of all ranks has one layout, so what stands at some place of the own one
/// stands at the same place of a peer's. Launches are counted by the epoch of the events, so that a
/// captured launch has its number at each replay.
struct Peers {
  static constexpr i64 kWords = 16;  // between what two peers write: 64 bytes

  /// To the memory of each rank, in bytes. Read behind the waits of the task that reaches there, as
  /// CutOff may have written it.
  i64* distances;
  u32* begun;  // where each rank writes the number of the launch that it has begun
  i64 rank;
  i64 ranks;

  template <class T>
  ETC_DEVICE T* At(T* own, i64 peer) const {
    return Moved(own, distances[peer]);
  }
  /// To the rank behind the own one for 0 and so on, the own one last: who writes at all ranks
  /// takes the longer ways first.
  template <int of_ranks>
  ETC_DEVICE i64 DistanceBehind(int place) const {
    return distances[(rank + 1 + place) % of_ranks];
  }
  /// The same for all of them, of whoever stores many times behind one read.
  template <int of_ranks>
  struct Distances {
    i64 to[of_ranks];
  };
  template <int of_ranks>
  ETC_DEVICE Distances<of_ranks> DistancesBehind() const {
    Distances<of_ranks> all;
#pragma unroll
    for (int i = 0; i < of_ranks; ++i) {
      all.to[i] = DistanceBehind<of_ranks>(i);
    }
    return all;
  }
  /// Calls body with what the own one is at each rank.
  template <int of_ranks, class T, class Body>
  ETC_DEVICE void ForEach(T own, Body body) const {
#pragma unroll
    for (int i = 0; i < of_ranks; ++i) {
      body(Moved(own, DistanceBehind<of_ranks>(i)));
    }
  }
  /// Of symmetric slots [of_ranks, rows, columns], the row of the own slot where row b has its sum
  /// made: at rank b % of_ranks, which owns it, as its row b / of_ranks.
  template <int of_ranks, class T>
  ETC_DEVICE T* RowAtOwner(T* slots, i64 rows, i64 columns, int b) const {
    i64 place = rank * rows + u32(b) / u32(of_ranks);
    return At(slots + place * columns, u32(b) % u32(of_ranks));
  }
  /// What lies so many bytes behind.
  template <class T>
  static ETC_DEVICE T* Moved(T* own, i64 bytes) {
    return reinterpret_cast<T*>(const_cast<char*>(reinterpret_cast<const char*>(own)) + bytes);
  }
  template <class T>
  static ETC_DEVICE Flagged<T> Moved(Flagged<T> own, i64 bytes) {
    own.memory += bytes;
    return own;
  }
  template <class T>
  static ETC_DEVICE Phased<T> Moved(const Phased<T>& own, i64 bytes) {
    return own.MovedBy(bytes);
  }

  /// The signal that this rank has ended the launch before, which cleared the counters of this one.
  /// By one thread, before it waits for anything.
  ETC_DEVICE void Begin(const void* event_memory) const {
    const u32 launch = NumberOf(static_cast<const u32*>(event_memory));
    FenceSystem();
    for (i64 peer = 0; peer < ranks; ++peer) {
      StoreRelaxedSystem(At(begun, peer) + rank * kWords, launch);
    }
  }

  /// Nobody reaches into the memory of a peer that has not begun the launch. A thread polls for
  /// each peer; the caller's Sync covers the others.
  template <class Role>
  ETC_DEVICE void Await(const Role& role, const Events& events) const {
#ifndef ETC_NO_HANDSHAKE  // a test shows what happens without it
    if (role.thread < ranks) {
      const u32 launch = NumberOf(events.header);
      while (!HasBegun(role.thread, launch)) {
      }
    }
#endif
  }

  /// Whether the peer has begun the launch. It may have begun the next one already.
  ETC_DEVICE bool HasBegun(i64 peer, u32 launch) const {
    return i32(LoadAcquireSystem(begun + peer * kWords) - launch) >= 0;
  }

  /// A wait was given up, by this thread: what comes behind it in this launch reaches no peer,
  /// since that may be in the middle of another launch, or would take what it gets for results. It
  /// reaches the own memory instead, which the runtime makes new.
  ETC_DEVICE bool CutOff(bool gave_up) const {
    for (i64 peer = 0; gave_up && peer < ranks; ++peer) {
      distances[peer] = 0;
    }
    return gave_up;
  }

  /// The epoch stands still until all CTAs have left the launch.
  static ETC_DEVICE u32 NumberOf(const u32* epoch) { return LoadRelaxed(epoch) + 1; }
};

/// Events that peers notify: the same counters, at the scope of the whole system.
struct SystemEvents : Events {
  ETC_DEVICE explicit SystemEvents(const Events& events) : Events(events) {}

  ETC_DEVICE u32 Notified(i64 index) const { return LoadAcquireSystem(Counter(index)); }

  template <class Role>
  ETC_DEVICE void WaitOne(const Role& role, i64 index, u32 count) const {
    if (role.thread == 0) {
      count = Opaque(count);
      while (Notified(index) < count) {
      }
    }
  }
  template <class Role>
  ETC_DEVICE void NotifyOne(const Role& role, i64 index, u32 amount) const {
    if (role.thread == 0) {
      AddReleaseSystem(Counter(index), amount);
    }
  }
  template <class Role>
  ETC_DEVICE void NotifyReleased(const Role& role, i64 index, u32 amount) const {
    if (role.thread == 0) {
      AddRelaxedSystem(Counter(index), amount);
    }
  }
};

/// In front of several NotifyReleased.
template <class Role>
ETC_DEVICE void ReleaseToSystem(const Role& role) {
  if (role.thread == 0) {
    FenceSystem();
  }
}

/// The own symmetric events, and those of a peer.
ETC_DEVICE SystemEvents Symmetric(const Events& events) { return SystemEvents(events); }
ETC_DEVICE SystemEvents EventsAt(const Events& events, const Peers& peers, i64 peer) {
  SystemEvents there(events);
  there.header = peers.At(events.header, peer);
  return there;
}

}  // namespace etc
