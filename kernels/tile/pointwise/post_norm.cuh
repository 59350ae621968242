// Norms what a projection left, adds it to the residual stream, and norms that for the next one:
// t = x + post_norm' * z / rms(z), h = t, y = norm' * t / rms(t), where z[b, :] is `sum`[b, :], or
// the sum of `partials` [:, b, :] in their order, rms(z) = sqrt(mean of z^2 + eps), and a weight w'
// is w + norm_offset.
//
// Config: eps; may have norm_offset (0). x, h and y are bf16 [b, K], sum is f32 [b, K] or partials
// f32 [P, b, K]; K is a multiple of 4. Task (b): one row, which the threads hold in registers.
#pragma once

#include "arch/common/math.cuh"
#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"
#include "tile/pointwise/norm.cuh"

namespace etc {

/// What a projection left: one sum for each element, or one for each part of K.
template <class Args, class = void>
struct ProjectionSums {
  using Run = decltype(ReadRun<4>(static_cast<Args*>(nullptr)->sum, 0));
  Run run;
  ETC_DEVICE void Start(const Args& args, i64 row, int k) { run = ReadRun<4>(args.sum, row + k); }
  ETC_DEVICE void Get(float (&values)[4]) const { run.Get(values); }
};
template <class Args>
struct ProjectionSums<Args, Void<decltype(Args::partials_0)>> {
  static constexpr int kSplitK = int(Args::partials_0);
  Vec4 parts[kSplitK];
  ETC_DEVICE void Start(const Args& args, i64 row, int k) {
    i64 stride = args.partials_1 * int(Args::partials_2);
#pragma unroll
    for (int p = 0; p < kSplitK; ++p) {
      parts[p] = LoadGlobal(args.partials + p * stride + row + k);
    }
  }
  ETC_DEVICE void Get(float (&values)[4]) const {
#pragma unroll
    for (float& value : values) {
      value = 0;
    }
#pragma unroll
    for (int p = 0; p < kSplitK; ++p) {
      values[0] += BitsToFloat(parts[p].x), values[1] += BitsToFloat(parts[p].y);
      values[2] += BitsToFloat(parts[p].z), values[3] += BitsToFloat(parts[p].w);
    }
  }
};

template <class Config, class Args>
struct PostNorm {
  static constexpr int kDepth = int(Args::x_1);
  static_assert(kDepth % 4 == 0, "a row is a multiple of 4 elements");
  static constexpr int kRounds = kNormRounds<kDepth>;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = SumOfAll::kScratchBytes;

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  static ETC_DEVICE void Prefetch(const Consumer& consumer, const Args& args, int) {
    PrefetchNorm(consumer, args.post_norm, kDepth);
    PrefetchNorm(consumer, args.norm, kDepth);
  }

  ETC_DEVICE PostNorm(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b) {
    i64 row = i64(b) * kDepth;
    // Everything is on its way before anything is waited for.
    ElementRun<const bf16*, 4> post_norms[kRounds], norms[kRounds];
    decltype(ReadRun<4>(args.x, 0)) olds[kRounds];
    ProjectionSums<Args> sums[kRounds];
    ForRounds<kDepth>(consumer, [&](int round, int k) {
      post_norms[round] = ReadRun<4>(args.post_norm, k);
      norms[round] = ReadRun<4>(args.norm, k);
      olds[round] = ReadRun<4>(args.x, row + k);
      sums[round].Start(args, row, k);
    });
    float values[kRounds][4] = {};
    float squares = 0;
    ForRounds<kDepth>(consumer, [&](int round, int) {
      sums[round].Get(values[round]);
      AddSquares(values[round], squares);
    });
    float scale = Scale(consumer, squares);
    squares = 0;
    ForRounds<kDepth>(consumer, [&](int round, int k) {
      float old[4];
      olds[round].Get(old);
      Multiply(values[round], scale, post_norms[round]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        // Rounded as the next stage reads it.
        values[round][i] = ToFloat(FromFloat<bf16>(old[i] + values[round][i]));
      }
      StoreRun(args.h, row + k, values[round]);
      AddSquares(values[round], squares);
    });
    scale = Scale(consumer, squares);
    ForRounds<kDepth>(consumer, [&](int round, int k) {
      Multiply(values[round], scale, norms[round]);
      StoreRun(args.y, row + k, values[round]);
    });
  }

 private:
  static ETC_DEVICE void AddSquares(const float (&values)[4], float& squares) {
#pragma unroll
    for (float value : values) {
      squares = fmaf(value, value, squares);
    }
  }
  ETC_DEVICE float Scale(Consumer& consumer, float squares) {
    return ReciprocalSqrt(sum_.Sum(consumer, squares) * (1.0f / kDepth) + float(Config::eps));
  }
  static ETC_DEVICE void Multiply(float (&values)[4], float scale,
                                  const ElementRun<const bf16*, 4>& weights) {
    float weight[4];
    weights.Get(weight);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      values[i] *= scale * (weight[i] + NormOffset<Config>::value);
    }
  }

  SumOfAll sum_;
};

}  // namespace etc
