// Dispatches: which tasks a CTA runs is decided while the kernel runs. A warp of its own, the
// scheduler, takes tickets ahead of the other roles and hands them the numbers of the tasks through
// words in shared memory, so that nobody waits for the counter.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/barrier.cuh"
#include "arch/sm90/launch.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/ticket.cuh"
#include "engine/events.cuh"
#include "engine/roles.cuh"

namespace etc {

/// Behind the last task of a case. As a number it is beyond all tasks, also when less is left of
/// it.
inline constexpr u32 kNoTicket = 0xffffffffu;
inline constexpr i64 kBeyondTasks = 1LL << 62;

/// How one warp of a role reads the words: each one once, in order.
struct Tickets {
  int lane;
  u32 zero;  // 0, which the compiler does not know
  Ring words;

  /// The number of the next task, or kBeyondTasks behind the last one of a case. For all lanes.
  ETC_DEVICE i64 Take() {
    BarrierWait(words.Full(), words.parity);
    const u32 word = LoadSharedWord(words.slot);
    // As in Consumer::Release: the word must be there before its place is given back.
    BarrierArriveWarp(words.Empty() + (word & zero), lane);
    words.Advance();
    return word == kNoTicket ? kBeyondTasks : i64(word);
  }
  /// Past the tasks of a case, by a role that has nothing to do for them.
  ETC_DEVICE void Skip() {
    while (Take() != kBeyondTasks) {
    }
  }
};

/// One warp that takes tickets.
struct Scheduler {
  int thread, lane;
  Ring words;
  Ring oldest;   // the oldest word that some role may not have read
  int held = 0;  // words from there on

  /// Takes tickets from a counter until there are no more than tasks, while at most `ahead` are
  /// held that some role has not begun. For all lanes.
  ETC_DEVICE void Hand(const Events& events, i64 counter, i64 tasks, int ahead) {
    while (HandOne(events, counter, tasks, ahead) < tasks) {
    }
  }
  /// Takes one ticket, and gives its number.
  ETC_DEVICE i64 HandOne(const Events& events, i64 counter, i64 tasks, int ahead) {
    MakeRoom(ahead);
    const u32 ticket = Take(events, counter);
    Write(i64(ticket) < tasks ? ticket : kNoTicket);
    return ticket;
  }

  /// Waits until less than `ahead` words are held that some role has not read.
  ETC_DEVICE void MakeRoom(int ahead) {
    for (; held >= ahead; --held) {
      BarrierWait(oldest.Empty(), oldest.parity);
      oldest.Advance();
    }
  }
  /// The first of so many tickets of a counter, for all lanes.
  ETC_DEVICE u32 Take(const Events& events, i64 counter, u32 tickets = 1) const {
    const u32 first = lane == 0 ? TakeTickets(events.Counter(counter), tickets) : 0;
    return __shfl_sync(0xffffffffu, first, 0);
  }
  /// Hands a word to the other roles.
  ETC_DEVICE void Write(u32 word) {
    if (lane == 0) {
      StoreShared(words.slot, word);
      BarrierArrive(words.Full());
    }
    __syncwarp();
    words.Advance();
    ++held;
  }
  /// A barrier of all threads of this role.
  ETC_DEVICE void Sync() { __syncwarp(); }
};

/// The words in shared memory, from byte kBegin on: for each a barrier that says it is full, and
/// one that says all roles have read it.
template <int kBegin, int kWords>
struct TicketRing {
  static constexpr int kThreads = 32;  // of the scheduler

  /// For all threads of the CTA, before the barrier of Block.
  static ETC_DEVICE void Init() {
    if (threadIdx.x == 0) {
      u32 barrier = First();
#pragma unroll 1
      for (int i = 0; i < kWords; ++i, barrier += 16) {
        BarrierInit(barrier, 1);
        BarrierInit(barrier + 8, (Consumer::kWarps + 2) * Arrivals(32));
      }
    }
  }
  /// Among the helpers; it is the third of them.
  static ETC_DEVICE bool IsScheduler() { return threadIdx.x / 32 == Consumer::kWarps + 2; }
  static ETC_DEVICE Scheduler MakeScheduler() {
    const int lane = int(threadIdx.x) % 32;
    return Scheduler{lane, lane, MakeWords(), MakeWords()};
  }
  static ETC_DEVICE Tickets MakeTickets() {
    // The grid has one dimension.
    return Tickets{int(threadIdx.x) % 32, blockIdx.y, MakeWords()};
  }

 private:
  static ETC_DEVICE u32 First() { return SharedAddress(LaunchSharedMemory()) + kBegin; }
  static ETC_DEVICE Ring MakeWords() {
    Ring ring;
    ring.first_barrier = ring.barrier = First();
    ring.end_barrier = ring.first_slot = ring.slot = ring.barrier + kWords * 16;
    ring.stride = 4;
    return ring;
  }
};

/// Where the words begin in `bytes` of shared memory; what is in front of them is left to Block.
__host__ __device__ constexpr int TicketsBegin(int bytes, int words) {
  return (bytes - words * 20) / 128 * 128;
}

}  // namespace etc
