// The queue of a dispatch on the host: kernels/engine/queue.cuh, by one thread for each SM.
#pragma once

namespace etc {

inline constexpr i64 kBeyondTasks = 1LL << 62;

struct Queue {
  const Events& events;
  i64 head;  // its counter; behind it that of the tail, then the places

  i64 TakeTicket(i64 counter) const { return Add(counter, 1); }

  /// The next of all tasks that are pushed, or at least `pushed` behind the last one.
  i64 Take(i64 pushed) const {
    return Take(pushed, [&](u32* place, i64) {
      events.Wait(place, 1, nullptr, [] { return false; });
      return true;
    });
  }
  /// The same where `await(place, ticket)` waits until the place is full, and says whether it is:
  /// there are no more tasks where it gives up.
  template <class Await>
  i64 Take(i64 pushed, Await await) const {
    const i64 ticket = TakeTicket(head);
    if (ticket >= pushed) {
      return ticket;
    }
    u32* place = Place(ticket);
    return await(place, ticket) ? i64(AtomicRef<u32>(*place).exchange(0, __ATOMIC_RELAXED)) - 1
                                : kBeyondTasks;
  }

  /// Counts the places that are promised to tasks.
  u32* Tail() const { return &events.counters[(head + 1) * Events::kStride]; }

  /// Whether a trigger is complete that counts this many.
  bool Arrive(i64 counter, u32 count) const {
    ETC_MEETING();
    return Add(counter, 1) == i64(count) - 1;
  }

  /// Appends tasks whose numbers follow each other.
  void Push(i64 first, i64 tasks) const {
    const i64 begin = Add(head + 1, u32(tasks));
    for (i64 i = 0; i < tasks; ++i) {
      ETC_MEETING();
      u32* place = Place(begin + i);
      AtomicRef<u32>(*place).store(u32(first + i) + 1);
      events.WakeSleepers(place);
    }
  }

  u32* Place(i64 ticket) const { return &events.counters[(head + 2) * Events::kStride + ticket]; }

 protected:
  i64 Add(i64 counter, u32 amount) const {
    return AtomicRef<u32>(events.counters[counter * Events::kStride])
        .fetch_add(amount, __ATOMIC_RELAXED);
  }
};

}  // namespace etc
