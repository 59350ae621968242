// The queue of a dispatch: tasks of some cases are pushed when enough others have been given out,
// and the schedulers of all CTAs take them in one order. A place of the queue is a word of event
// memory: 0 while it is empty, else one more than the number of its task. Who takes a task empties
// its place, so each launch finds all places empty.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/ticket.cuh"
#include "engine/events.cuh"
#include "engine/tickets.cuh"

namespace etc {

/// For one scheduler warp, and for all of its lanes. Nothing here is released or acquired: a task
/// waits for its events itself.
struct Queue {
  const Events& events;
  Scheduler& scheduler;
  i64 head;  // its counter; behind it that of the tail, then the places
  int ahead;

  /// Takes a ticket of a case that nobody pushes, and hands it to the other roles. At least `tasks`
  /// behind the last one.
  ETC_DEVICE i64 HandTask(i64 counter, i64 tasks) const {
    return scheduler.HandOne(events, counter, tasks, ahead);
  }

  /// Takes the next of all tasks that are pushed, waits for it, and hands it to the other roles. At
  /// least `pushed` behind the last one.
  ETC_DEVICE i64 HandEntry(i64 pushed) const {
    return HandEntry(pushed, [](const u32* place, u32) {
      u32 word;
      while ((word = LoadRelaxed(place)) == 0) {
        PollAgain();
      }
      return word;
    });
  }
  /// The same where one thread waits by `await(place, ticket)` until the place is full, and gives
  /// the word: there are no more tasks where it gives up, and gives 0.
  template <class Await>
  ETC_DEVICE i64 HandEntry(i64 pushed, Await await) const {
    scheduler.MakeRoom(ahead);
    const u32 ticket = scheduler.Take(events, head);
    if (i64(ticket) >= pushed) {
      scheduler.Write(kNoTicket);
      return ticket;
    }
    u32 word = 0;
    if (scheduler.lane == 0) {
      u32* place = Place(ticket);
      word = await(place, ticket);
      if (word != 0) {
        StoreRelaxed(place, 0);
      }
    }
    const u32 task = __shfl_sync(0xffffffffu, word, 0) - 1;
    static_assert(kNoTicket == 0u - 1);
    scheduler.Write(task);
    return task == kNoTicket ? kBeyondTasks : i64(task);
  }

  /// Counts the places that are promised to tasks.
  ETC_DEVICE u32* Tail() const { return events.Counter(head + 1); }

  /// Whether a trigger is complete that counts this many.
  ETC_DEVICE bool Arrive(i64 counter, u32 count) const {
    return scheduler.Take(events, counter) == count - 1;
  }

  /// Appends tasks whose numbers follow each other.
  ETC_DEVICE void Push(i64 first, i64 tasks) const {
    const u32 begin = scheduler.Take(events, head + 1, u32(tasks));
    for (i64 i = scheduler.lane; i < tasks; i += 32) {
      StoreRelaxed(Place(begin + u32(i)), u32(first + i) + 1);
    }
    __syncwarp();
  }

 protected:
  ETC_DEVICE u32* Place(u32 ticket) const { return events.Counter(head + 2) + ticket; }
};

}  // namespace etc
