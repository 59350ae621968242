// Event counters in global memory. Two sets, used by turns: a launch counts in one, which it finds
// zero, and clears the other for the next launch. docs/runtime.md has the layout.
#pragma once

#include "arch/memory.cuh"
#include "arch/tagged.cuh"
#include "arch/types.cuh"
#include "tile/roles.cuh"

namespace etc {

struct Events {
  static constexpr int kStride = 32;  // words: each counter has its own line of 128 bytes

  u32* header;    // epoch, arrivals
  u32* counters;  // this launch's set
  u32 tag;        // this launch's, for tagged buffers; never that of zeroed memory

  /// For all threads of the CTA, before the barrier of Block: every thread has read the epoch
  /// before any can finish.
  ETC_DEVICE Events(void* memory, u64 capacity) {
    header = static_cast<u32*>(memory);
    u32 epoch = LoadRelaxed(header);
    tag = epoch + 1;
    u32 set = epoch & 1;
    u32* sets = header + kStride;
    counters = sets + set * capacity * kStride;
    u32* other = sets + (set ^ 1) * capacity * kStride;
    u64 threads = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < capacity; i += threads) {
      other[i * kStride] = 0;
    }
  }

  ETC_DEVICE u32* Counter(i64 index) const { return counters + index * kStride; }

  /// One thread polls; the caller's Sync, after all of its waits, covers the others.
  ETC_DEVICE void WaitOne(const Consumer& consumer, i64 index, u32 count) const {
    if (consumer.thread == 0) {
      while (LoadAcquire(Counter(index)) < count) {
      }
    }
  }
  /// Events first .. first + number, one lane of the first warp for each at a time; without a Sync.
  ETC_DEVICE void WaitRange(const Consumer& consumer, i64 first, i64 number, u32 count) const {
    if (consumer.warp == 0) {
      for (i64 i = consumer.lane; i < number; i += 32) {
        while (LoadAcquire(Counter(first + i)) < count) {
        }
      }
    }
  }
  ETC_DEVICE void Wait(Consumer& consumer, i64 index, u32 count) const {
    WaitOne(consumer, index, count);
    consumer.Sync();
  }

  /// After a Sync of the threads whose writes it announces.
  ETC_DEVICE void NotifyOne(const Consumer& consumer, i64 index, u32 amount) const {
    if (consumer.thread == 0) {
      AddRelease(Counter(index), amount);
    }
  }
  ETC_DEVICE void Notify(Consumer& consumer, i64 index, u32 amount) const {
    consumer.Sync();
    NotifyOne(consumer, index, amount);
  }

  /// The end of the consumer role: the last CTA to leave opens the next epoch.
  ETC_DEVICE void Finish(Consumer& consumer) const {
    consumer.Sync();
    if (consumer.thread == 0 && FetchAddAcquireRelease(header + 1, 1) == gridDim.x - 1) {
      header[1] = 0;
      header[0] += 1;
    }
  }
};

}  // namespace etc
