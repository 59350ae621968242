// y[b, :] = x[b, :] * (norm[:] + norm_offset) / sqrt(mean of x[b, :]^2 + eps). Config: eps; may
// have norm_offset (0). Both are bf16, K a multiple of 4. Task (b): one row.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"
#include "tile/pointwise/norm.cuh"

namespace etc {

template <class Config, class Args>
struct RmsNorm {
  static constexpr int kDepth = int(Args::x_1);
  static_assert(kDepth % 4 == 0, "a row is a multiple of 4 elements");
  static constexpr int kRounds = kNormRounds<kDepth>;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = SumOfAll::kScratchBytes;

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE RmsNorm(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b) {
    i64 row = i64(b) * kDepth;
    // Zeros where the last round has none, or the compiler would keep the task before's.
    decltype(ReadRun<4>(args.x, 0)) reads[kRounds] = {};
    ElementRun<const bf16*, 4> norms[kRounds] = {};
    ForRounds<kDepth>(consumer, [&](int round, int k) {
      norms[round] = ReadRun<4>(args.norm, k);
      reads[round] = ReadRun<4>(args.x, row + k);
    });
    bool missing;
    do {
      missing = false;
      ForRounds<kDepth>(consumer, [&](int round, int) { missing |= reads[round].Fetch(); });
    } while (AnyLane(missing));
    float values[kRounds][4] = {};
    float squares = 0;
    ForRounds<kDepth>(consumer, [&](int round, int) {
      reads[round].Take(values[round]);
#pragma unroll
      for (float value : values[round]) {
        squares = fmaf(value, value, squares);
      }
    });
    float scale =
        ReciprocalSqrt(sum_.Sum(consumer, squares) * (1.0f / kDepth) + float(Config::eps));
    ForRounds<kDepth>(consumer, [&](int round, int k) {
      float weights[4];
      norms[round].Take(weights);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        values[round][i] *= scale * (weights[i] + NormOffset<Config>::value);
      }
      StoreRun(args.y, row + k, values[round]);
    });
  }

 private:
  SumOfAll sum_;
};

}  // namespace etc
