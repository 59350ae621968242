// Scores of tokens, their distances from the best one and their weights: docs/sampling.md. Equal
// bits on every target: single operations on floats, and integers.
//
// Args of the kernels: slot [T] has the place of each sequence, row_start [T + 1] the first row of
// each where a sequence may have several; logits f32 [B, V]; repetition_penalty [P]; seen u32
// [P, W] has a bit for each token.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"

namespace etc {

constexpr i32 kOctave = 1 << 25;    // of distance
constexpr i32 kFar = 41 * kOctave;  // from here on a token has no weight
constexpr int kBinBits = 23;        // of distance in a bin
constexpr float kLargestFloat = 3.4028235e38f;
constexpr float kDistancesInLn2 = 48408812.0f;

template <class Args, class = void>
struct RowsOfDraws {
  static ETC_DEVICE int First(const Args&, int s) { return s; }
  static ETC_DEVICE int SequenceOf(const Args&, int row, int) { return row; }
};
template <class Args>
struct RowsOfDraws<Args, Void<decltype(Args::row_start)>> {
  static ETC_DEVICE int First(const Args& args, int s) { return args.row_start[s]; }
  /// For all lanes of a warp.
  static ETC_DEVICE int SequenceOf(const Args& args, int row, int lane) {
    int before = 0;
    for (int s = lane; s < int(args.slot_0); s += 32) {
      before += args.row_start[s + 1] <= row ? 1 : 0;
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      before += __shfl_xor_sync(0xffffffffu, before, offset);
    }
    return max(0, min(int(args.slot_0) - 1, before));
  }
};

ETC_DEVICE float FiniteScore(float logit) {
  return logit > NegativeInfinity() ? fminf(logit, kLargestFloat) : NegativeInfinity();
}

/// The scores of a row.
template <class Args>
struct RowScores {
  const float* logits;
  const u32* seen;
  float penalty;

  ETC_DEVICE RowScores(const Args& args, int row, int slot)
      : logits(args.logits + i64(row) * args.logits_1),
        seen(args.seen + i64(slot) * args.seen_1),
        penalty(args.repetition_penalty[slot]) {}

  template <bool is_penalised>
  ETC_DEVICE float Of(float logit, int token) const {
    float score = FiniteScore(logit);
    if (is_penalised && (seen[token >> 5] >> (token & 31) & 1) != 0) {
      // Rounded by itself, whatever it is subtracted from.
      score = FiniteScore(score > 0.0f ? score / penalty : __fmul_rn(score, penalty));
    }
    return score;
  }
};

ETC_DEVICE bool IsDrawn(float temperature) { return temperature >= 1e-5f; }
ETC_DEVICE float DistanceScale(float temperature) {
  return kDistancesInLn2 / fmaxf(temperature, 1e-5f);
}
ETC_DEVICE i32 DistanceOf(float score, float largest, float scale) {
  float steps = __fmul_rn(largest - score, scale);
  return steps < float(kFar) ? i32(steps) : kFar;  // and of what is no number
}

/// 2^40 times 2^(-distance / 2^25), cut to an integer.
ETC_DEVICE u64 WeightOf(i32 distance) {
  constexpr u32 kCoefficients[7] = {2147483648u, 1488522224u, 515881603u, 119183688u,
                                    20609476u,   2773769u,    246789u};
  u32 fraction = u32(distance) << 7;
  u32 value = kCoefficients[6];
#pragma unroll
  for (int i = 5; i >= 0; --i) {
    value = kCoefficients[i] - u32(u64(value) * fraction >> 32);
  }
  return u64(value) << 9 >> (u32(distance) >> 25);
}

/// Pieces of a row that a thread reads at once: 16 bytes, where rows are made of such pieces.
template <class T, int kRow>
struct alignas(kRow % 4 == 0 ? 16 : 4) RowPiece {
  static constexpr int kElements = kRow % 4 == 0 ? 4 : 1;
  T elements[kElements];
};

}  // namespace etc
