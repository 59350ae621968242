// What PostNorm does with a row that the consumer threads have in registers.
//
// Config and Args: see PostNorm (post_norm.cuh).
#pragma once

#include "arch/common/math.cuh"
#include "arch/common/types.cuh"
#include "arch/sm90/flagged.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/roles.cuh"
#include "tile/pointwise/norm.cuh"

namespace etc {

template <class Config, int depth>
struct PostNormRow {
  static constexpr int kRounds = kNormRounds<depth>;
  using Weights = ElementRun<const bf16*, 4>[kRounds];

  /// Waits for `olds` and `parts`, norms the sum of the parts, adds it to the old values, and norms
  /// that. Calls store_h(k, values) for each four of the second, and store_y(k, values) of the
  /// last.
  template <int parts_count, class Old, class Part, class StoreH, class StoreY>
  static ETC_DEVICE void Norm(Consumer& consumer, SumOfAll& sum, Old (&olds)[kRounds],
                              Part (&parts)[kRounds][parts_count], const Weights& post_norms,
                              const Weights& norms, StoreH store_h, StoreY store_y) {
    AwaitRow<depth>(consumer, [&](int round, int, bool& missing) {
      missing |= olds[round].Fetch();
#pragma unroll
      for (Part& part : parts[round]) {
        missing |= part.Fetch();
      }
    });
    float values[kRounds][4] = {};
    float squares = 0;
    ForRounds<depth>(consumer, [&](int round, int) {
#pragma unroll
      for (int p = 0; p < parts_count; ++p) {
        float part[4];
        parts[round][p].Take(part);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          values[round][i] += part[i];
        }
      }
      AddSquares(values[round], squares);
    });
    float scale = Scale(sum.Sum(consumer, squares));
    squares = 0;
    ForRounds<depth>(consumer, [&](int round, int k) {
      float old[4];
      olds[round].Take(old);
      Multiply(values[round], scale, post_norms[round]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        // Rounded as the next stage reads it.
        values[round][i] = ToFloat(FromFloat<bf16>(old[i] + values[round][i]));
      }
      store_h(k, values[round]);
      AddSquares(values[round], squares);
    });
    scale = Scale(sum.Sum(consumer, squares));
    ForRounds<depth>(consumer, [&](int round, int k) {
      Multiply(values[round], scale, norms[round]);
      store_y(k, values[round]);
    });
  }

 private:
  static ETC_DEVICE void AddSquares(const float (&values)[4], float& squares) {
#pragma unroll
    for (float value : values) {
      squares = fmaf(value, value, squares);
    }
  }
  static ETC_DEVICE float Scale(float squares) {
    return ReciprocalSqrt(squares * (1.0f / depth) + float(Config::eps));
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
};

}  // namespace etc
