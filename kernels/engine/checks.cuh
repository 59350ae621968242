// Debug checks: what a launch finds wrong with the data that its indices come from. The record
// stands in the header of the event memory, of which docs/runtime.md has the layout. Shared with
// the host target.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/await.cuh"
#include "arch/sm90/memory.cuh"

namespace etc {

struct Checks {
  static constexpr int kValues = 12;

  u32* header;

  /// The first failure of all stays: its number and its values, for the text of the message.
  template <class... Values>
  ETC_DEVICE void Fail(u32 check, Values... values) const {
    static_assert(sizeof...(values) <= kValues, "the record has no room for the values");
    if (!Failed() && FetchAddAcquireRelease(header + 2, 1) == 0) {
      header[3] = check;
      i64* next = reinterpret_cast<i64*>(header + 4);
      ((*next++ = i64(values)), ...);
    }
  }
  /// Also of a launch before, as long as nobody has asked for it.
  ETC_DEVICE bool Failed() const { return LoadAcquire(header + 2) != 0; }

  /// Whether an index is inside of its extent; `values` are those of the message.
  template <class... Values>
  ETC_DEVICE bool Inside(u32 check, i64 index, i64 extent, Values... values) const {
    if (index >= 0 && index < extent) {
      return true;
    }
    Fail(check, values..., index, extent);
    return false;
  }
  /// An element that must be in lo .. hi; the least such where it is not.
  template <class... Values>
  ETC_DEVICE i64 InRange(u32 check, i64 value, i64 lo, i64 hi, Values... values) const {
    if (value >= lo && value < hi) {
      return value;
    }
    Fail(check, values..., value, lo, hi);
    return lo;
  }

  /// A divisor.
  template <class... Values>
  ETC_DEVICE i64 NotZero(u32 check, i64 divisor, Values... values) const {
    if (divisor == 0) {
      Fail(check, values...);
    }
    return divisor;
  }
  /// By how many places a shift moves.
  template <class... Values>
  ETC_DEVICE i64 Places(u32 check, i64 places, Values... values) const {
    if (places < 0 || places > 63) {
      Fail(check, values..., places);
    }
    return places;
  }

  /// Waits until all `parties` have come, each by one thread. The last one has them stop if a check
  /// has failed so far: all or none, also where a check of a task fails soon after.
  ETC_DEVICE void Meet(u32 parties) const {
    u32* here = header + 28;
    u32* rounds = header + 29;
    u32 round = LoadAcquire(rounds);
    if (FetchAddAcquireRelease(here, 1) == parties - 1) {
      *here = 0;
      header[30] = Failed();
      AddRelease(rounds, 1);
      WakeAll(rounds);
    } else {
      AwaitChange(rounds, round);
    }
  }
  /// What the meeting came to.
  ETC_DEVICE bool Stopped() const { return header[30] != 0; }
};

ETC_DEVICE Checks OpenChecks(void* event_memory) { return Checks{static_cast<u32*>(event_memory)}; }

}  // namespace etc
