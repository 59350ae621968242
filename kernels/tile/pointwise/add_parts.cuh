// Adds what the ranks sent: y[b, i] = residual[b, i] + (slots[0, b, i] + slots[1, b, i] + ...).
//
// Config: columns. `residual` and y are bf16 [b, N], `slots` is f32 [ranks, b, N], in which order
// they are added, so that all ranks have the same bits; N and `columns` are multiples of 4. Task
// (b, c): so many columns of a row.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/roles.cuh"

namespace etc {

template <class Config, class Args>
struct AddParts {
  static constexpr int kDepth = int(Args::y_1);
  static constexpr int kRanks = int(Args::slots_0);
  static constexpr int kColumns = int(Config::columns);
  static constexpr int kRun = 4;  // of a thread
  static_assert(kDepth % kRun == 0 && kColumns % kRun == 0, "rows and columns are multiples of 4");
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE AddParts(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int c) {
    int end = c * kColumns + kColumns < kDepth ? c * kColumns + kColumns : kDepth;
    for (int i = c * kColumns + consumer.thread * kRun; i < end; i += Consumer::kThreads * kRun) {
      i64 at = i64(b) * kDepth + i;
      auto old = ReadRun<kRun>(args.residual, at);
      decltype(ReadRun<kRun>(args.slots, 0)) reads[kRanks];
#pragma unroll
      for (int rank = 0; rank < kRanks; ++rank) {
        reads[rank] = ReadRun<kRun>(args.slots, rank * args.slots_1 * kDepth + at);
      }
      float sums[kRun] = {};
#pragma unroll
      for (int rank = 0; rank < kRanks; ++rank) {
        float part[kRun];
        reads[rank].Get(part);
#pragma unroll
        for (int j = 0; j < kRun; ++j) {
          sums[j] += part[j];
        }
      }
      float values[kRun];
      old.Get(values);
#pragma unroll
      for (int j = 0; j < kRun; ++j) {
        values[j] += sums[j];
      }
      StoreRun(args.y, at, values);
    }
  }
};

}  // namespace etc
