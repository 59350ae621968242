// A queue to which data decide how many tasks are pushed. What is known is the number of its
// pushes, one for each element of a trigger: who makes the last one marks the end, in the places
// behind the last task that SMs look at.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/launch.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/checks.cuh"
#include "engine/queue.cuh"

namespace etc {

/// For one scheduler warp, and for all of its lanes. The counter of pushes stands in front of that
/// of the head. What arrives behind a push is released, and acquired by who completes the trigger:
/// so tasks have their places in the order in which triggers lead from one to the other.
struct CountedQueue : Queue {
  static constexpr u32 kEnd = 0xffffffffu;   // in a place: no task comes here
  static constexpr u32 kLeftOut = 1u << 30;  // in the record: the number of this failure

  i64 places;
  i64 pushes;

  /// Takes the next of all tasks that are pushed, waits for it, and hands it to the other roles.
  /// kBeyondTasks behind the last one.
  ETC_DEVICE i64 HandEntry() const {
    return HandEntry([](const u32* place, u32) {
      u32 word;
      while ((word = LoadRelaxed(place)) == 0) {
        PollAgain();
      }
      return word;
    });
  }
  /// The same where one thread waits by `await(place, ticket)`, which gives 0 where it gives up.
  template <class Await>
  ETC_DEVICE i64 HandEntry(Await await) const {
    scheduler.MakeRoom(ahead);
    const u32 ticket = scheduler.Take(events, head);
    u32 word = 0;
    if (scheduler.lane == 0 && i64(ticket) < places) {
      u32* place = Place(ticket);
      word = await(place, ticket);
      if (word != 0) {
        StoreRelaxed(place, 0);
      }
      word = word == kEnd ? 0 : word;
    }
    const u32 task = __shfl_sync(0xffffffffu, word, 0) - 1;
    scheduler.Write(task);
    return task == kNoTicket ? kBeyondTasks : i64(task);
  }

  /// Whether a trigger is complete that counts this many.
  ETC_DEVICE bool Arrive(i64 counter, u32 count) const { return Count(counter) == count - 1; }

  /// Appends tasks whose numbers follow each other, or none. More than there are places for break
  /// what is asked of data: they are left out, and the launch says so.
  ETC_DEVICE void Push(i64 first, i64 tasks) const {
    if (tasks > 0) {
      const i64 begin = scheduler.Take(events, head + 1, u32(tasks));
      for (i64 i = scheduler.lane; i < tasks && begin + i < places; i += 32) {
        StoreRelaxed(Place(u32(begin + i)), u32(first + i) + 1);
      }
      __syncwarp();
#ifndef ETC_DEBUG_CHECKS  // which say what is wrong with the data, perhaps a little later
      if (begin + tasks > places && scheduler.lane == 0) {
        Checks{events.header}.Fail(kLeftOut, begin + tasks, places);
      }
#endif
    }
    if (Count(head - 1) == u32(pushes) - 1) {
      MarkEnd();
    }
  }

 private:
  /// What the counter was, before one more.
  ETC_DEVICE u32 Count(i64 counter) const {
    const u32 before = scheduler.lane == 0 ? FetchAddAcquireRelease(events.Counter(counter), 1) : 0;
    return __shfl_sync(0xffffffffu, before, 0);
  }

  /// Each SM takes one ticket behind the last task.
  ETC_DEVICE void MarkEnd() const {
    const i64 end = __shfl_sync(0xffffffffu, scheduler.lane == 0 ? LoadRelaxed(Tail()) : 0, 0);
    const i64 sms = GridSize();
    for (i64 i = scheduler.lane; i < sms && end + i < places; i += 32) {
      StoreRelaxed(Place(u32(end + i)), kEnd);
    }
    __syncwarp();
  }
};

/// The tasks in front of those at one value, as `ranges` has them. For all lanes.
template <class Ranges>
ETC_DEVICE i64 TasksBefore(const Ranges& ranges, i64 value) {
  const i64 place = value - ranges.begin;
  const int runs = int(place / ranges.run);  // that are whole in front
  i64 before = __shfl_sync(0xffffffffu, ranges.until, runs > 0 ? runs - 1 : 0);
  before = runs > 0 ? before : 0;
  for (i64 i = i64(runs) * ranges.run; i < place; ++i) {
    before += ranges.tasks_at(ranges.begin + i);
  }
  return before;
}

}  // namespace etc
