// The queue of kernels/engine/counted_queue.cuh on the host, by one thread for each SM.
#pragma once

namespace etc {

struct CountedQueue : Queue {
  static constexpr u32 kEnd = 0xffffffffu;   // in a place: no task comes here
  static constexpr u32 kLeftOut = 1u << 30;  // in the record: the number of this failure

  i64 places;
  i64 pushes;

  /// The next of all tasks that are pushed, or kBeyondTasks behind the last one.
  i64 Take() const {
    return Take([&](u32* place, i64) {
      events.Wait(place, 1, nullptr, [] { return false; });
      return true;
    });
  }
  /// The same where `await(place, ticket)` waits until the place is full, and says whether it is.
  template <class Await>
  i64 Take(Await await) const {
    const i64 ticket = TakeTicket(head);
    if (ticket >= places) {
      return kBeyondTasks;
    }
    u32* place = Place(ticket);
    if (!await(place, ticket)) {
      return kBeyondTasks;
    }
    const u32 word = AtomicRef<u32>(*place).exchange(0, __ATOMIC_RELAXED);
    return word == kEnd ? kBeyondTasks : i64(word) - 1;
  }

  /// Whether a trigger is complete that counts this many.
  bool Arrive(i64 counter, u32 count) const {
    ETC_MEETING();
    return Count(counter) == count - 1;
  }

  /// Appends tasks whose numbers follow each other, or none. More than there are places for break
  /// what is asked of data: they are left out, and the launch says so.
  void Push(i64 first, i64 tasks) const {
    if (tasks > 0) {
      const i64 begin = Add(head + 1, u32(tasks));
      for (i64 i = 0; i < tasks && begin + i < places; ++i) {
        Fill(begin + i, u32(first + i) + 1);
      }
      if (begin + tasks > places) {
        Checks{events.Header()}.Fail(kLeftOut, begin + tasks, places);
      }
    }
    if (Count(head - 1) == u32(pushes) - 1) {
      const i64 end = AtomicRef<u32>(*Tail()).load(__ATOMIC_RELAXED);
      for (i64 i = 0; i < i64(events.sms) && end + i < places; ++i) {
        Fill(end + i, kEnd);
      }
    }
  }

 private:
  /// What the counter was, before one more.
  u32 Count(i64 counter) const {
    return AtomicRef<u32>(events.counters[counter * Events::kStride])
        .fetch_add(1, __ATOMIC_ACQ_REL);
  }
  void Fill(i64 ticket, u32 word) const {
    ETC_MEETING();
    u32* place = Place(ticket);
    AtomicRef<u32>(*place).store(word);
    events.WakeSleepers(place);
  }
};

/// The tasks in front of those at one value, as `ranges` has them.
template <class Ranges>
i64 TasksBefore(const Ranges& ranges, i64 value) {
  i64 before = 0;
  for (i64 i = ranges.value + 1; i < value; ++i) {
    before += ranges.tasks_at(i);
  }
  return before;
}

}  // namespace etc
