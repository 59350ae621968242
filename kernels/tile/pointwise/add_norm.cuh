// Adds what a GEMM left in partials, and norms: residual[b, :] += partials[0, b, :] + partials[1,
// b, :] +
// ..., y[b, :] = residual[b, :] * norm[:] / sqrt(mean of residual[b, :]^2 + eps).
//
// Config: eps. `residual` and y are bf16 [b, K], `partials` is f32 [P, b, K], in which order they
// are added; K is a multiple of 4. Task (b): one row, which the threads hold in registers.
#pragma once

#include "arch/common/math.cuh"
#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/phased.cuh"
#include "engine/roles.cuh"
#include "tile/pointwise/norm.cuh"

namespace etc {

/// Four elements, to y as it is or wherever else it is.
template <class Words>
ETC_DEVICE void StoreNormed(bf16* y, i64 at, Words words) {
  *reinterpret_cast<Words*>(y + at) = words;
}

template <class Config, class Args>
struct AddNorm {
  static constexpr int kDepth = int(Args::residual_1);
  static constexpr int kSplitK = int(Args::partials_0);
  static_assert(kDepth % 4 == 0, "a row is a multiple of 4 elements");
  static constexpr bool kPhased = IsPhased<decltype(Args::partials)>::value;
  static constexpr int kRounds = kNormRounds<kDepth>;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = SumOfAll::kScratchBytes;

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  static ETC_DEVICE void Prefetch(const Consumer& consumer, const Args& args, int) {
    PrefetchNorm(consumer, args.norm, kDepth);
  }

  ETC_DEVICE AddNorm(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b) {
    i64 row = i64(b) * kDepth;
    // Zeros where the last round has none, or the compiler would keep the task before's.
    Words olds[kRounds] = {}, norms[kRounds] = {};
    float values[kRounds][4] = {};
    ForRounds<kDepth>(consumer, [&](int round, int k) {
      if constexpr (!kPhased) {
        olds[round] = *reinterpret_cast<const Words*>(args.residual + row + k);
      }
      norms[round] = *reinterpret_cast<const Words*>(args.norm + k);
    });
    Vec4 partials[kRounds][kSplitK] = {};
    Fetch(consumer, args.partials, args.partials_1 * kDepth, row, partials);
    if constexpr (kPhased) {
      // The words have said that it is there, in L2: no fence has emptied L1.
      ForRounds<kDepth>(consumer, [&](int round, int k) {
        const auto* from = reinterpret_cast<const u32*>(args.residual + row + k);
        olds[round] = {LoadRelaxed(from), LoadRelaxed(from + 1)};
      });
    }
    Add(consumer, olds, partials, values);
    float squares = 0;
    ForRounds<kDepth>(consumer, [&](int round, int k) {
      float(&value)[4] = values[round];
      Words sum{PackBf16(value[0], value[1]), PackBf16(value[2], value[3])};
      *reinterpret_cast<Words*>(args.residual + row + k) = sum;
      Unpack(sum, value);  // as the next stage reads it
#pragma unroll
      for (float element : value) {
        squares = fmaf(element, element, squares);
      }
    });
    float scale =
        ReciprocalSqrt(sum_.Sum(consumer, squares) * (1.0f / kDepth) + float(Config::eps));
    ForRounds<kDepth>(consumer, [&](int round, int k) {
      float(&value)[4] = values[round];
      float norm[4];
      Unpack(norms[round], norm);
      Words result{PackBf16(value[0] * scale * norm[0], value[1] * scale * norm[1]),
                   PackBf16(value[2] * scale * norm[2], value[3] * scale * norm[3])};
      StoreNormed(args.y, row + k, result);
    });
  }

 private:
  /// Four bf16.
  struct alignas(8) Words {
    u32 low, high;
  };
  static ETC_DEVICE void Unpack(Words words, float (&values)[4]) {
    values[0] = LowBf16(words.low), values[1] = HighBf16(words.low);
    values[2] = LowBf16(words.high), values[3] = HighBf16(words.high);
  }

  /// All partials of a row, of which all are fetched before the first is needed.
  static ETC_DEVICE void Fetch(const Consumer& consumer, const float* from, i64 stride, i64 row,
                               Vec4 (&partials)[kRounds][kSplitK]) {
    ForRounds<kDepth>(consumer, [&](int round, int k) {
#pragma unroll
      for (int p = 0; p < kSplitK; ++p) {
        partials[round][p] = LoadGlobal(from + p * stride + row + k);
      }
    });
  }
  static ETC_DEVICE void Fetch(const Consumer& consumer, const Phased<float>& from, i64 stride,
                               i64 row, Vec4 (&partials)[kRounds][kSplitK]) {
    ForRounds<kDepth>(consumer, [&](int round, int) {
#pragma unroll
      for (Vec4& words : partials[round]) {
        words = {from.Missing(), from.Missing(), from.Missing(), from.Missing()};
      }
    });
    AwaitRow<kDepth>(consumer, [&](int round, int k, bool& missing) {
#pragma unroll
      for (int p = 0; p < kSplitK; ++p) {
        missing |= from.FetchMissing(partials[round][p], from.Word(u32(p * stride + row + k)));
      }
    });
    ForRounds<kDepth>(consumer, [&](int round, int) {
#pragma unroll
      for (Vec4& words : partials[round]) {
        words = from.Data(words);
      }
    });
  }

  /// The old values and all partials.
  static ETC_DEVICE void Add(const Consumer& consumer, const Words (&olds)[kRounds],
                             const Vec4 (&partials)[kRounds][kSplitK], float (&sums)[kRounds][4]) {
    ForRounds<kDepth>(consumer, [&](int round, int) {
      float(&sum)[4] = sums[round];
      Unpack(olds[round], sum);
#pragma unroll
      for (int p = 0; p < kSplitK; ++p) {
        const Vec4& partial = partials[round][p];
        sum[0] += BitsToFloat(partial.x), sum[1] += BitsToFloat(partial.y);
        sum[2] += BitsToFloat(partial.z), sum[3] += BitsToFloat(partial.w);
      }
    });
  }

  SumOfAll sum_;
};

}  // namespace etc
