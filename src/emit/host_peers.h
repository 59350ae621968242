// What one rank of a program with a mesh reaches of the others: behind host_prelude.h.
#pragma once

namespace etc {

/// The symmetric memory of all ranks has one layout, so what stands at some place of the own one
/// stands at the same place of a peer's.
struct Peers {
  static constexpr i64 kWords = 16;  // between what two peers write: 64 bytes
  /// Of the words of rank 0, the one in the place of Events::sleepers. A peer still reads it when
  /// its notify has been seen, and the event memory may be zeroed for the next launch.
  static constexpr i64 kSleepers = 1;

  i64* distances;  // to the memory of each rank, in bytes; CutOff writes it
  u32* begun;      // where each rank writes the number of the launch that it has begun
  i64 rank;
  i64 ranks;

  template <class T>
  T* At(T* own, i64 peer) const {
    const i64 distance = AtomicRef<i64>(distances[peer]).load(__ATOMIC_RELAXED);
    auto* bytes = reinterpret_cast<const char*>(own) + distance;
    return reinterpret_cast<T*>(const_cast<char*>(bytes));
  }

  /// The signal that this rank has ended the launch before, and has made the memory of this one
  /// ready: by one thread, before any other of the launch.
  void Begin(u32 launch) const {
    ETC_MEETING();
    for (i64 peer = 0; peer < ranks; ++peer) {
      u32* word = At(begun, peer) + rank * kWords;
      AtomicRef<u32>(*word).store(launch, __ATOMIC_RELEASE);
      WakeAll(word);
    }
  }

  /// Nobody reaches into the memory of a peer that has not begun the launch.
  void Await(u32 launch) const {
    ETC_MEETING();
#ifndef ETC_NO_HANDSHAKE  // a test shows what happens without it
    for (i64 peer = 0; peer < ranks; ++peer) {
      u32* word = begun + peer * kWords;
      for (u32 seen; !IsLaunch(seen = LoadAcquire(word), launch);) {
        AwaitChange(word, seen);
      }
    }
#endif
  }

  /// Whether a rank that has begun this one has begun the launch: it may be in the next one
  /// already.
  static bool IsLaunch(u32 begun_one, u32 launch) { return i32(begun_one - launch) >= 0; }

  /// A wait was given up, by this thread: what comes behind it in this launch reaches no peer,
  /// since that may be in the middle of another launch, or would take what it gets for results. It
  /// reaches the own memory instead, which the runtime makes new.
  bool CutOff(bool gave_up) const {
    for (i64 peer = 0; gave_up && peer < ranks; ++peer) {
      AtomicRef<i64>(distances[peer]).store(0, __ATOMIC_RELAXED);
    }
    return gave_up;
  }
};

/// The own symmetric events, and those of a peer.
inline const Events& Symmetric(const Events& events) { return events; }
inline Events EventsAt(const Events& events, const Peers& peers, i64 peer) {
  Events there = events;
  there.counters = peers.At(events.counters, peer);
  there.sleepers = peers.At(events.sleepers, peer);
  return there;
}
/// Each notify releases by itself.
inline void ReleaseToSystem(const Consumer&) {}

}  // namespace etc
