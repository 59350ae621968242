// y[b, :] = x[b, :] * norm[:] / sqrt(mean of x[b, :]^2 + eps). Config: eps. Task (b): one row.
#pragma once

#include "arch/math.cuh"
#include "tile/options.cuh"
#include "tile/roles.cuh"

namespace etc {

template <class Config, class Args>
struct RmsNorm {
  static constexpr int kDepth = int(Args::x_1);
  static constexpr int kWarps = Consumer::kWarps;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 2 * kWarps * 4;

  int parity = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE RmsNorm(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b) {
    const auto* x = args.x + i64(b) * kDepth;
    auto* y = args.y + i64(b) * kDepth;
    float squares = 0;
#pragma unroll 4
    for (int k = consumer.thread; k < kDepth; k += Consumer::kThreads) {
      float value = ToFloat(x[k]);
      squares = fmaf(value, value, squares);
    }
    float* sums = reinterpret_cast<float*>(consumer.scratch) + parity * kWarps;
    squares = GroupSum<32>(squares);
    if (consumer.lane == 0) {
      sums[consumer.warp] = squares;
    }
    consumer.Sync();
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) {
      sum += sums[warp];
    }
    float scale = ReciprocalSqrt(sum * (1.0f / kDepth) + float(Config::eps));
#pragma unroll 4
    for (int k = consumer.thread; k < kDepth; k += Consumer::kThreads) {
      StoreFloat(y + k, ToFloat(x[k]) * scale * ToFloat(args.norm[k]));
    }
    parity ^= 1;
  }
};

}  // namespace etc
