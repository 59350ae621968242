// Norms what a projection left, adds it to the residual stream, and norms that for the next one:
// t = x + post_norm' * z / rms(z), h = t, y = norm' * t / rms(t), where z[b, :] is the sum of
// `partials` [:, b, :] in their order, rms(z) = sqrt(mean of z^2 + eps), and a weight w' is
// w + norm_offset.
//
// Config: eps; may have norm_offset (0). x, h and y are bf16 [b, K], partials f32 [P, b, K]; K is a
// multiple of 4. Task (b): one row, which the threads hold in registers.
#pragma once

#include "arch/common/math.cuh"
#include "arch/common/types.cuh"
#include "arch/sm90/flagged.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"
#include "tile/pointwise/norm.cuh"

namespace etc {

template <class Config, class Args>
struct PostNorm {
  static constexpr int kDepth = int(Args::x_1);
  static_assert(kDepth % 4 == 0, "a row is a multiple of 4 elements");
  static constexpr int kParts = int(Args::partials_0);
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
    i64 stride = args.partials_1 * kDepth;
    // Everything is on its way before anything is waited for, and all that is missing is fetched
    // again together: a wait for each run would cost a way to L2 for each.
    // Zeros where the last round has none, or the compiler would keep the task before's.
    ElementRun<const bf16*, 4> post_norms[kRounds] = {}, norms[kRounds] = {};
    decltype(ReadRun<4>(args.x, 0)) olds[kRounds] = {};
    decltype(ReadRun<4>(args.partials, 0)) parts[kRounds][kParts] = {};
    ForRounds<kDepth>(consumer, [&](int round, int k) {
      post_norms[round] = ReadRun<4>(args.post_norm, k);
      norms[round] = ReadRun<4>(args.norm, k);
      olds[round] = ReadRun<4>(args.x, row + k);
#pragma unroll
      for (int p = 0; p < kParts; ++p) {
        parts[round][p] = ReadRun<4>(args.partials, p * stride + row + k);
      }
    });
    bool missing;
    do {
      missing = false;
      ForRounds<kDepth>(consumer, [&](int round, int) {
        missing |= olds[round].Fetch();
#pragma unroll
        for (int p = 0; p < kParts; ++p) {
          missing |= parts[round][p].Fetch();
        }
      });
    } while (AnyLane(missing));
    float values[kRounds][4] = {};
    float squares = 0;
    ForRounds<kDepth>(consumer, [&](int round, int) {
#pragma unroll
      for (int p = 0; p < kParts; ++p) {
        float part[4];
        parts[round][p].Take(part);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          values[round][i] += part[i];
        }
      }
      AddSquares(values[round], squares);
    });
    float scale = Scale(consumer, squares);
    squares = 0;
    ForRounds<kDepth>(consumer, [&](int round, int k) {
      float old[4];
      olds[round].Take(old);
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
    weights.Take(weight);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      values[i] *= scale * (weight[i] + NormOffset<Config>::value);
    }
  }

  SumOfAll sum_;
};

}  // namespace etc
