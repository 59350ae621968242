// A wait in a launch where nothing happens. Shared with the host target.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/watch.cuh"
#include "engine/checks.cuh"

namespace etc {

struct Stalled {
  static constexpr u32 kWait = 1u << 31;        // in a record: the number is that of a wait
  static constexpr u64 kEnded = ~u64(0);        // nobody waits any more
  static constexpr u64 kPause = 1000000000ull;  // between two looks: the launch was not running

  u32* header;
  u32 count;
  u32 seen = 0;
  u64 since = 0;  // nothing has happened since
  u64 last = 0;   // look at the clock

  ETC_DEVICE void Look(u64 now, bool nothing_happens) {
    if (!nothing_happens || now - last > kPause) {
      since = now;
    }
    last = now;
  }

  /// Whether to go on without the event. Of all tasks that wait, the first in program order waits
  /// for notifies that do not come; the others wait for what follows from it. So each proposes its
  /// place, and the first of them leaves the record, or whoever waits twice as long. Then all waits
  /// end, and all tasks run.
  template <class... Values>
  ETC_DEVICE bool GivesUp(i64 seconds, u64 place, u32 wait, Values... values) const {
    u64* word = reinterpret_cast<u64*>(header + 26);
    const u64 limit = u64(seconds) * 1000000000ull, waited = last - since;
    const u64 first = LoadRelaxed(word), mine = kEnded - 1 - place;
    if (first == kEnded || waited < limit) {
      return first == kEnded;
    }
    if (first < mine) {
      MaxRelaxed(word, mine);
      return false;
    }
    if (waited < (first == mine ? limit + limit / 5 : 2 * limit)) {
      return false;
    }
    OpenChecks(header).Fail(kWait | wait, values..., seen, count);
    MaxRelaxed(word, kEnded);
    return true;
  }
};

}  // namespace etc
