// Waits for events on the host that end where nothing happens: behind host_prelude.h, which has the
// host's own of arch/sm90/watch.cuh, and engine/stalled.cuh.
#pragma once

namespace etc {

/// How many threads of a launch wait or are done, in the word of the header that counts arrivals on
/// a GPU. As long as one computes, something happens.
inline u32* IdleThreads(const Events& events) { return events.Header() + 1; }

/// How many threads compute, of the launches of all ranks in this process: what a rank waits for
/// may take a peer long. Not `inline`, which would join those of all artifacts.
[[maybe_unused]] static u32 computing_threads = 0;

inline void CountComputing(const Events& events, u32 change) {
  if (events.computing != nullptr) {
    AddRelease(events.computing, change);
  }
}
inline void Rest(const Events& events) {
  AddRelease(IdleThreads(events), 1);
  CountComputing(events, ~0u);
}
inline void Resume(const Events& events) {
  CountComputing(events, 1);
  AddRelease(IdleThreads(events), ~0u);
}
inline void EnterLaunch(const Events& events) { CountComputing(events, 1); }
inline void LeaveLaunch(const Events& events) { Rest(events); }

inline bool NothingHappens(const Events& events) {
  return LoadAcquire(IdleThreads(events)) == events.sms &&
         (events.computing == nullptr || LoadAcquire(events.computing) == 0);
}

/// Waits until the word is one that `suffices`, and says whether it is: a thread that sleeps asks
/// `gives_up` now and then, of what `seen(word)` says has come.
template <class Suffices, class Seen, class GivesUp>
bool AwaitWatched(const Events& events, u32* word, Suffices suffices, Stalled wait, Seen seen,
                  GivesUp gives_up) {
  constexpr timespec kLook{0, 20000000};
  u32 value = 0;
  auto complete = [&] { return suffices(value = LoadAcquire(word)); };
  ETC_MEETING();
  for (int looked = 0; looked < events.looks; ++looked) {
    if (complete()) {
      return true;
    }
    Pause();
  }
  Rest(events);
  bool came = false;
  while (!(came = complete())) {
    events.SleepWhile(word, value, &kLook);
    wait.seen = seen(value);
    wait.Look(Nanoseconds(), NothingHappens(events));
    if (gives_up(wait)) {
      break;
    }
  }
  Resume(events);
  return came;
}

/// Events::WaitOne, unless it gives up.
template <class GivesUp>
void WaitWatched(const Events& events, const Consumer&, i64 index, u32 count, GivesUp gives_up) {
  AwaitWatched(
      events, &events.counters[index * Events::kStride], [=](u32 value) { return value >= count; },
      Stalled{events.Header(), count}, [](u32 value) { return value; }, gives_up);
}

/// Await of the peers, unless it gives up: it is asked with a bit for each rank that has not begun
/// the launch.
template <class AnyPeers, class GivesUp>
void AwaitPeersWatched(const AnyPeers& peers, const Events& events, u32 launch, GivesUp gives_up) {
  auto begun = [=](u32 value) { return peers.IsLaunch(value, launch); };
  auto gives_up_late = [&](const Stalled& wait) {
    u64 late = 0;
    for (i64 peer = 0; peer < peers.ranks; ++peer) {
      late |= u64(!begun(LoadAcquire(peers.begun + peer * peers.kWords))) << peer;
    }
    return gives_up(wait, late);
  };
  bool waits = true;
  for (i64 peer = 0; waits && peer < peers.ranks; ++peer) {
    waits = AwaitWatched(
        events, peers.begun + peer * peers.kWords, begun, Stalled{events.Header(), launch},
        [](u32 value) { return value; }, gives_up_late);
  }
}

/// Whether a place of a queue is full that so many tasks are pushed to, of which `tail` counts
/// those that were.
template <class GivesUp>
bool AwaitPlace(const Events& events, u32* place, u32* tail, i64 tasks, GivesUp gives_up) {
  return AwaitWatched(
      events, place, [](u32 word) { return word != 0; }, Stalled{events.Header(), u32(tasks)},
      [&](u32) { return LoadAcquire(tail); }, gives_up);
}

}  // namespace etc
