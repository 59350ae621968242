// The rows of the tokens in the slots of each place, one behind the other: y[u * G + j] = x[token[u
// * G + j]] for the slots j that place u has. What stands in the other slots stays.
//
// Task (u, r): `rows` slots of a place. A warp copies a row, 16 bytes to a lane.
//
// Config: rows. Args: x bf16 [B, K], n_used [1], count [P], token [P * G], y bf16 [P * G, K]. K is
// a multiple of 8.
#pragma once

#include "arch/sm90/memory.cuh"
#include "engine/roles.cuh"

namespace etc {

template <class Config, class Args>
class GatherTokens {
  static constexpr int kRows = int(Config::rows);
  static constexpr int kSlots = int(Args::token_0) / int(Args::count_0);
  static constexpr int kDepth = int(Args::x_1);
  static_assert(kDepth % 8 == 0, "rows begin at multiples of 16 bytes");

 public:
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE GatherTokens(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int u, int r) {
    if (u >= int(LoadRelaxed(reinterpret_cast<const u32*>(args.n_used)))) {
      return;
    }
    int count = int(LoadRelaxed(reinterpret_cast<const u32*>(args.count) + u));
    int end = min(count, (r + 1) * kRows);
    for (int j = r * kRows + consumer.warp; j < end; j += Consumer::kWarps) {
      i64 slot = i64(u) * kSlots + j;
      i64 token = LoadRelaxed(reinterpret_cast<const u32*>(args.token) + slot);
#pragma unroll 4
      for (int k = consumer.lane * 8; k < kDepth; k += 32 * 8) {
        StoreGlobal(args.y + slot * kDepth + k, LoadGlobal(args.x + token * kDepth + k));
      }
    }
  }
};

}  // namespace etc
