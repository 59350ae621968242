// y[r, :] = x[r, :], by way of the ring. Task (r): one row. A slot has a size that is no multiple
// of what boxes of tensor copies need.
#pragma once

#include "arch/sm90/memory.cuh"
#include "engine/roles.cuh"

namespace etc {

template <class Config, class Args>
struct ThroughRing {
  static constexpr int kSlotBytes = 40 * 1024 + 16;
  static constexpr int kScratchBytes = 0;
  static constexpr int kPieces = int(Args::x_1) / 8;  // of 16 bytes
  static_assert(kPieces * 8 == Args::x_1 && kPieces * 16 <= kSlotBytes, "a row is whole pieces");

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int r) {
    u32 slot = loader.Acquire();
    loader.Expect(kPieces * 16);
    loader.Copy(slot, args.x + i64(r) * Args::x_1, kPieces * 16);
    loader.Advance();
  }

  ETC_DEVICE ThroughRing(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int r) {
    u32 slot = consumer.WaitAddress();
    u32 read = 0;
    for (int piece = consumer.thread; piece < kPieces; piece += Consumer::kThreads) {
      Vec4 words = LoadShared(slot + piece * 16);
      read ^= words.x;
      StoreGlobal(args.y + i64(r) * Args::x_1 + piece * 8, words);
    }
    consumer.Release(read);
  }
};

}  // namespace etc
