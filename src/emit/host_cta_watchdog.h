// Waits for events of one SM on the host that end where nothing happens: behind host_cta_events.h
// and host_watchdog.h.
#pragma once

namespace etc {

/// CtaEvents::WaitOne, unless it gives up.
template <class GivesUp>
void WaitWatched(const CtaEvents& own, const Consumer&, i64 index, u32 count, GivesUp gives_up) {
  AwaitWatched(
      own.events, &own.counters[index], [=](u32 value) { return value >= count; },
      Stalled{own.events.Header(), count}, [](u32 value) { return value; }, gives_up);
}

}  // namespace etc
