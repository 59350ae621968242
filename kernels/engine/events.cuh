// Event counters in global memory. Two sets, used by turns: a launch counts in one, which it finds
// zero, and clears the other for the next launch. docs/runtime.md has the layout.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/roles.cuh"

namespace etc {

struct Events {
  static constexpr int kStride = 32;  // words: each counter has its own line of 128 bytes

  u32* header;   // epoch, arrivals
  u64 capacity;  // counters in a set
  u32 set;       // this launch's

  /// For all threads of the CTA, before the barrier of Block: every thread has read the epoch
  /// before any can finish.
  ETC_DEVICE Events(void* memory, u64 events) {
    header = static_cast<u32*>(memory);
    capacity = events;
    set = LoadRelaxed(header) & 1;
    u32* other = header + (1 + (set ^ 1) * capacity) * kStride;
    u64 threads = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < capacity; i += threads) {
      other[i * kStride] = 0;
    }
  }

  /// Opaque, or the compiler would keep the address of the set for a whole kernel.
  ETC_DEVICE u32* Counter(i64 index) const {
    return header + (1 + Opaque(set) * capacity + index) * kStride;
  }

  /// How many notifies of the event have come.
  ETC_DEVICE u32 Notified(i64 index) const { return LoadAcquire(Counter(index)); }

  /// One thread polls; the caller's Sync, after all of its waits, covers the others. The count is
  /// opaque, or the loop may read it from local memory each time.
  template <class Role>
  ETC_DEVICE void WaitOne(const Role& role, i64 index, u32 count) const {
    if (role.thread == 0) {
      count = Opaque(count);
      while (LoadAcquire(Counter(index)) < count) {
      }
    }
  }
  /// In debug builds, of an event that may never be complete once a check has failed.
  template <class Role, class Checks>
  ETC_DEVICE void WaitOne(const Role& role, const Checks& checks, i64 index, u32 count) const {
    if (role.thread == 0) {
      while (LoadAcquire(Counter(index)) < count && !checks.Failed()) {
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

  /// After a Sync of the threads whose writes it announces: the role's, Consumer or EpilogueWarp.
  template <class Role>
  ETC_DEVICE void NotifyOne(const Role& role, i64 index, u32 amount) const {
    if (role.thread == 0) {
      AddRelease(Counter(index), amount);
    }
  }
  template <class Role>
  ETC_DEVICE void Notify(Role& role, i64 index, u32 amount) const {
    role.Sync();
    NotifyOne(role, index, amount);
  }

  /// The end of the consumer role: the last CTA to leave opens the next epoch.
  template <class Flags>
  ETC_DEVICE void Finish(Consumer& consumer, const Flags& flags, i64 flagged_bytes) const {
    consumer.Sync();
    if (consumer.thread == 0 && FetchAddAcquireRelease(header + 1, 1) == gridDim.x - 1) {
      header[1] = 0;
      header[0] += 1;
      flags.Finish(flagged_bytes);
    }
  }
};

/// The memory of a kernel's flagged buffers: a header of 256 bytes, then the buffers.
struct FlagState {
  static constexpr int kHeaderBytes = 256;

  u32* header;   // launches, then how far the last one wrote, in units of 256 bytes
  u32 set;       // the set of this launch
  u32 previous;  // how far the launch before wrote

  /// For all threads of the CTA, before the barrier of Block, as in Events.
  ETC_DEVICE explicit FlagState(void* memory) {
    header = static_cast<u32*>(memory);
    set = LoadRelaxed(header) & 1;
    previous = LoadRelaxed(header + 1);
  }

  /// Clears what the launch before wrote: for `threads` threads of each CTA.
  ETC_DEVICE void Clear(int thread, int threads) const {
    constexpr u32 line = 8;  // pieces of 16 bytes in a line of one set
    char* other = reinterpret_cast<char*>(header) + kHeaderBytes + (set ^ 1) * (line * 16);
    u32 stride = gridDim.x * threads;
    for (u32 i = blockIdx.x * threads + thread; i < previous * line; i += stride) {
      StoreGlobal(other + u64(i / line) * 256 + i % line * 16, Vec4{0, 0, 0, 0});
    }
  }

  /// By the last CTA to leave. `bytes`: the size of the buffers.
  ETC_DEVICE void Finish(i64 bytes) const {
    header[0] += 1;
    header[1] = u32((bytes + 255) / 256);
  }
};

/// Of a kernel without flagged buffers.
struct NoFlags {
  static constexpr u32 set = 0;
  ETC_DEVICE void Clear(int, int) const {}
  ETC_DEVICE void Finish(i64) const {}
};

}  // namespace etc
