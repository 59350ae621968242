// The rows of RmsNorm by a warp for each, where there are more of them than warps. Each output has
// the same bits as there.
//
// Task (t): the `rows` rows from t * rows on, or those that are left. A warp has two at once unless
// they are long, and waits for no other warp. A lane has the elements of all threads of RmsNorm
// whose lane it is, and adds up their squares as those do.
//
// Config: eps, rows; may have norm_offset (0). Args: x and y bf16 [B, K], norm bf16 [K], K a
// multiple of 4.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"
#include "tile/pointwise/norm.cuh"

namespace etc {

template <class Config, class Args>
class RmsNormByWarps {
  static constexpr int kDepth = int(Args::x_1);
  static constexpr int kRows = int(Config::rows);
  static constexpr int kFours = DivideUp(kDepth, 4 * 32);  // of a lane
  static constexpr int kAtOnce = kFours <= 16 ? 2 : 1;     // rows
  static constexpr int kNorms = kFours < 8 ? kFours : 8;   // read at once
  static_assert(kDepth % 4 == 0, "a row is a multiple of 4 elements");

  using Four = ElementRun<const bf16*, 4>;

 public:
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE RmsNormByWarps(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int t) {
    int end = min(int(args.x_0), (t + 1) * kRows);
#pragma unroll 1
    for (int b = t * kRows + consumer.warp; b < end; b += kAtOnce * Consumer::kWarps) {
      Four rows[kAtOnce][kFours];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        // A row behind the last one is that one.
        i64 row = i64(min(b + i * Consumer::kWarps, end - 1)) * kDepth;
#pragma unroll
        for (int four = 0; four < kFours; ++four) {
          if (Exists(consumer, four)) {
            rows[i][four] = ReadRun<4>(args.x, row + Place(consumer, four));
          }
        }
      }
      float scales[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        scales[i] = Scale(consumer, rows[i]);
      }
#pragma unroll
      for (int first = 0; first < kFours; first += kNorms) {
        StoreFours(consumer, args, rows, scales, first, b, end);
      }
    }
  }

 private:
  /// Where a lane's four elements begin.
  static ETC_DEVICE int Place(const Consumer& consumer, int four) {
    return (four * 32 + consumer.lane) * 4;
  }
  static ETC_DEVICE bool Exists(const Consumer& consumer, int four) {
    return four < kFours && (kDepth % (4 * 32) == 0 || Place(consumer, four) < kDepth);
  }

  static ETC_DEVICE float Scale(const Consumer& consumer, const Four (&row)[kFours]) {
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < Consumer::kWarps && warp < kFours; ++warp) {
      float squares = 0;
#pragma unroll
      for (int four = warp; four < kFours; four += Consumer::kWarps) {
        if (Exists(consumer, four)) {
          float values[4];
          row[four].Get(values);
#pragma unroll
          for (float value : values) {
            squares = fmaf(value, value, squares);
          }
        }
      }
      sum += GroupSum<32>(squares);
    }
    return ReciprocalSqrt(sum * (1.0f / kDepth) + float(Config::eps));
  }

  /// Of kNorms fours from `first` on, of the rows that exist.
  static ETC_DEVICE void StoreFours(const Consumer& consumer, const Args& args,
                                    const Four (&rows)[kAtOnce][kFours],
                                    const float (&scales)[kAtOnce], int first, int b, int end) {
    Four norms[kNorms];
#pragma unroll
    for (int j = 0; j < kNorms; ++j) {
      if (Exists(consumer, first + j)) {
        norms[j] = ReadRun<4>(args.norm, Place(consumer, first + j));
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
      for (int j = 0; j < kNorms; ++j) {
        if (Exists(consumer, first + j) && b + i * Consumer::kWarps < end) {
          float weights[4], values[4];
          norms[j].Get(weights);
          rows[i][first + j].Get(values);
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            values[k] *= scales[i] * (weights[k] + NormOffset<Config>::value);
          }
          StoreRun(args.y, i64(b + i * Consumer::kWarps) * kDepth + Place(consumer, first + j),
                   values);
        }
      }
    }
  }
};

}  // namespace etc
