// y[b, f] = silu(gate[b, f]) * up[b, f]. Config: chunk. Task (b, c): chunk c of row b.
#pragma once

#include "arch/common/math.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"

namespace etc {

template <class Config, class Args>
struct SiluMul {
  static constexpr int kChunk = int(Config::chunk);
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE SiluMul(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int c) {
    int end = min((c + 1) * kChunk, int(args.y_1));
#pragma unroll 4
    for (int f = c * kChunk + consumer.thread; f < end; f += Consumer::kThreads) {
      i64 i = i64(b) * args.y_1 + f;
      StoreFloat(args.y + i, Silu(ToFloat(args.gate[i])) * ToFloat(args.up[i]));
    }
  }
};

}  // namespace etc
