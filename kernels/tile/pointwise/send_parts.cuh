// Adds what a GEMM left in partials, and sends the sum to all ranks: slots[rank, b, i] =
// parts[0, b, i] + parts[1, b, i] + ..., at every rank.
//
// Config: columns. `parts` is f32 [P, b, N], in which order they are added, and `slots` f32 [ranks,
// b, N]; N and `columns` are multiples of 4. Task (b, c): so many columns of a row.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/roles.cuh"

namespace etc {

template <class Config, class Args>
struct SendParts {
  static constexpr int kDepth = int(Args::slots_2);
  static constexpr int kRanks = int(Args::slots_0);
  static constexpr int kParts = int(Args::parts_0);
  static constexpr int kColumns = int(Config::columns);
  static constexpr int kRun = 4;  // of a thread
  static_assert(kDepth % kRun == 0 && kColumns % kRun == 0, "rows and columns are multiples of 4");
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE SendParts(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int c) {
    i64 to[kRanks];
#pragma unroll
    for (int i = 0; i < kRanks; ++i) {
      to[i] = args.dims.peers.template DistanceBehind<kRanks>(i);
    }
    int end = c * kColumns + kColumns < kDepth ? c * kColumns + kColumns : kDepth;
    i64 rows = args.slots_1;
    for (int i = c * kColumns + consumer.thread * kRun; i < end; i += Consumer::kThreads * kRun) {
      i64 at = i64(b) * kDepth + i;
      Vec4 parts[kParts];
#pragma unroll
      for (int p = 0; p < kParts; ++p) {
        parts[p] = LoadGlobal(args.parts + p * rows * kDepth + at);
      }
      float sums[kRun] = {};
#pragma unroll
      for (const Vec4& part : parts) {
        sums[0] += BitsToFloat(part.x), sums[1] += BitsToFloat(part.y);
        sums[2] += BitsToFloat(part.z), sums[3] += BitsToFloat(part.w);
      }
      Vec4 words{FloatToBits(sums[0]), FloatToBits(sums[1]), FloatToBits(sums[2]),
                 FloatToBits(sums[3])};
      float* slot = args.slots.own + args.dims.peers.rank * rows * kDepth + at;
#pragma unroll
      for (i64 distance : to) {
        StoreGlobal(args.dims.peers.Moved(slot, distance), words);
      }
    }
  }
};

}  // namespace etc
