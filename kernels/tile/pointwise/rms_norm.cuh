// y[b, :] = x[b, :] * norm[:] / sqrt(mean of x[b, :]^2 + eps). Config: eps. Task (b): one row.
#pragma once

#include "arch/common/math.cuh"
#include "engine/roles.cuh"
#include "tile/pointwise/norm.cuh"

namespace etc {

template <class Config, class Args>
struct RmsNorm {
  static constexpr int kDepth = int(Args::x_1);
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = SumOfAll::kScratchBytes;

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
    float scale =
        ReciprocalSqrt(sum_.Sum(consumer, squares) * (1.0f / kDepth) + float(Config::eps));
#pragma unroll 4
    for (int k = consumer.thread; k < kDepth; k += Consumer::kThreads) {
      StoreFloat(y + k, ToFloat(x[k]) * scale * ToFloat(args.norm[k]));
    }
  }

 private:
  SumOfAll sum_;
};

}  // namespace etc
