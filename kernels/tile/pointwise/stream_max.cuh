// y[t, j] = max over k of x[t, k, j], 4-byte integers. Task (t): reads a stretch of memory through
// the ring, as fast as it comes; what is done with it takes less time than that.
#pragma once

#include "arch/sm90/memory.cuh"
#include "engine/roles.cuh"

namespace etc {

template <class Config, class Args>
struct StreamMax {
  static constexpr int kRowBytes = Consumer::kThreads * 16;
  static constexpr int kSlotRows = 8;
  static constexpr int kSlots = int(Args::x_1) / kSlotRows;  // of a task
  static_assert(sizeof(*Args::x) == 4 && Args::x_2 * 4 == kRowBytes, "a row is 16 bytes a thread");
  static_assert(Args::x_1 % kSlotRows == 0, "a task is whole slots");
  static constexpr int kSlotBytes = kSlotRows * kRowBytes;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int t) {
    const char* source = reinterpret_cast<const char*>(args.x) + i64(t) * kSlots * kSlotBytes;
#pragma unroll 1
    for (int slot = 0; slot < kSlots; ++slot) {
      u32 destination = loader.Acquire();
      loader.Expect(kSlotBytes);
      loader.Copy(destination, source + i64(slot) * kSlotBytes, kSlotBytes);
      loader.Advance();
    }
  }

  ETC_DEVICE StreamMax(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int t) {
    constexpr u32 kLeast = 0x80000000;
    Vec4 most{kLeast, kLeast, kLeast, kLeast};
#pragma unroll 1
    for (int slot = 0; slot < kSlots; ++slot) {
      u32 address = consumer.WaitAddress() + consumer.thread * 16;
      u32 read = 0;
#pragma unroll
      for (int row = 0; row < kSlotRows; ++row) {
        Vec4 value = LoadShared(address + row * kRowBytes);
        read ^= value.x;
        most = {Larger(most.x, value.x), Larger(most.y, value.y), Larger(most.z, value.z),
                Larger(most.w, value.w)};
      }
      consumer.Release(read);
    }
    StoreGlobal(args.y + i64(t) * args.y_1 + consumer.thread * 4, most);
  }

 private:
  static ETC_DEVICE u32 Larger(u32 a, u32 b) { return int(a) > int(b) ? a : b; }
};

}  // namespace etc
