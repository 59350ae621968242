// Event counters of one SM on the host, behind host_prelude.h: the words of the one thread that
// notifies and waits in its place.
#pragma once

namespace etc {

struct CtaEvents {
  const Events& events;
  u32* counters;

  /// The thread has notified before, or it waits without end.
  void WaitOne(const Consumer&, i64 index, u32 count) const {
    events.Wait(&counters[index], count, nullptr, [] { return false; });
  }
  void NotifyOne(const Consumer&, i64 index, u32 amount) const {
    AddRelease(&counters[index], amount);
  }
};

}  // namespace etc
