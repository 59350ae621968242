// Waits for events on the host that end where nothing happens: behind host_prelude.h, which has the
// host's own of arch/sm90/watch.cuh, and engine/stalled.cuh.
#pragma once

namespace etc {

/// How many threads of a launch wait or are done, in the word of the header that counts arrivals on
/// a GPU. As long as one computes, something happens.
inline u32* IdleThreads(const Events& events) { return events.Header() + 1; }

inline void LeaveLaunch(const Events& events) { AddRelease(IdleThreads(events), 1); }

/// Events::WaitOne, but a thread that sleeps asks `gives_up` now and then.
template <class GivesUp>
void WaitWatched(const Events& events, const Consumer&, i64 index, u32 count, GivesUp gives_up) {
  constexpr timespec kLook{0, 20000000};
  u32* counter = &events.counters[index * Events::kStride];
  Stalled wait{events.Header(), count};
  auto complete = [&] { return (wait.seen = LoadAcquire(counter)) >= count; };
  ETC_MEETING();
  for (int looked = 0; looked < events.looks; ++looked) {
    if (complete()) {
      return;
    }
    Pause();
  }
  AddRelease(IdleThreads(events), 1);
  while (!complete()) {
    events.SleepWhile(counter, wait.seen, &kLook);
    wait.Look(Nanoseconds(), LoadAcquire(IdleThreads(events)) == events.sms);
    if (gives_up(wait)) {
      break;
    }
  }
  AddRelease(IdleThreads(events), ~0u);
}

}  // namespace etc
