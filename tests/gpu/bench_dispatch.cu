// What it costs to decide at run time who does a task (docs/dynamic.md): a ticket, a pop, a push,
// an early push with the pop that follows from it, and a push of as many tasks as data say, for one
// SM alone and for all of them. One thread of each CTA works, as the scheduler warp does. Times are
// the device's own clock.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "arch/sm90/memory.cuh"
#include "arch/sm90/ticket.cuh"
#include "arch/sm90/watch.cuh"
#include "stopwatch.cuh"

namespace etc::test {

constexpr int kRounds = 2000;
constexpr int kLine = 32;  // words between two counters

/// A queue whose places are never used twice in a launch. A place is full when it holds the lap.
struct Queue {
  u32* head;      // tickets of those who pop
  u32* tail;      // and of those who push
  u32* triggers;  // one for each CTA, each on its own line
  u64* places;
};

constexpr u64 kLap = 1ull << 40;

ETC_DEVICE u64 Pop(const Queue& queue) {
  const u64* place = queue.places + TakeTicket(queue.head);
  u64 word;
  while ((word = LoadRelaxed(place)) < kLap) {
  }
  return word;
}

ETC_DEVICE void Push(const Queue& queue, u64 entry) {
  volatile u64* place = queue.places + TakeTicket(queue.tail);
  *place = kLap | entry;
}

/// What CountedQueue does when a trigger is complete, beside reading the ranges: it counts the
/// arrival, appends the tasks, and counts the push.
ETC_DEVICE void CountedPush(const Queue& queue, u64 entry) {
  FetchAddAcquireRelease(queue.triggers + blockIdx.x * kLine, 1);
  Push(queue, entry);
  FetchAddAcquireRelease(queue.head, 1);
}

enum class What { Ticket, Pop, Push, EarlyPush, CountedPush };

/// Each CTA does kRounds of one thing, and says how long it took.
template <What what>
__global__ void Measure(Queue queue, u64* nanoseconds) {
  const u64 begin = Nanoseconds();
#pragma unroll 1
  for (int round = 0; round < kRounds; ++round) {
    if constexpr (what == What::Ticket) {
      TakeTicket(queue.head);
    } else if constexpr (what == What::Pop) {
      Pop(queue);
    } else if constexpr (what == What::Push) {
      Push(queue, round);
    } else if constexpr (what == What::CountedPush) {
      CountedPush(queue, round);
    } else {
      // A task is popped and dispatched; it is the last producer of one that this pushes.
      const u32 owner = u32(Pop(queue) % kLap % gridDim.x);
      if (TakeTicket(queue.triggers + owner * kLine) % 2 == 1) {
        Push(queue, owner);
        Push(queue, owner + 1);
      }
    }
  }
  nanoseconds[blockIdx.x] = Nanoseconds() - begin;
}

template <What what>
void Time(const char* name, int ctas) {
  const size_t places = size_t(ctas) * (kRounds + 2) * 2;
  Buffer<u32> counters((2 + size_t(ctas)) * kLine);
  Buffer<u64> words(places);
  Buffer<u64> times(ctas);
  std::vector<u64> full(places, what == What::Push || what == What::CountedPush ? 0 : kLap);
  if (what == What::EarlyPush) {
    // Two entries for each CTA at the start: as many as are on their way all the time.
    for (size_t i = 0; i < places; ++i) {
      full[i] = i < 2 * size_t(ctas) ? kLap | i / 2 : 0;
    }
  }
  double best = 1e30, mean = 0;
  for (int launch = 0; launch < 5; ++launch) {
    std::vector<u32> zero((2 + size_t(ctas)) * kLine, 0);
    zero[kLine] = what == What::EarlyPush ? 2 * u32(ctas) : 0;
    counters.Write(zero);
    words.Write(full);
    Queue queue{counters.data(), counters.data() + kLine, counters.data() + 2 * kLine,
                words.data()};
    Measure<what><<<ctas, 1>>>(queue, times.data());
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaDeviceSynchronize());
    double sum = 0;
    for (u64 time : times.Read()) {
      sum += double(time) / kRounds / ctas;
    }
    if (launch > 0 && sum < best) {
      best = sum;
    }
    mean += launch > 0 ? sum / 4 : 0;
  }
  std::printf("%-12s %4d SMs: %7.1f ns each (mean %7.1f), %7.3f ns over all SMs\n", name, ctas,
              best, mean, best / ctas);
}

}  // namespace etc::test

int main() {
  using namespace etc::test;
  int sms = 0;
  CUDA_OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  for (int ctas : {1, sms}) {
    Time<What::Ticket>("ticket", ctas);
    Time<What::Pop>("pop", ctas);
    Time<What::Push>("push", ctas);
    Time<What::EarlyPush>("early push", ctas);
    Time<What::CountedPush>("counted push", ctas);
  }
  return 0;
}
