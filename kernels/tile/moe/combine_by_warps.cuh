// What the experts of each token found, as CombineExperts adds it to the residual stream, by a warp
// for each token. Each output has the same bits as there.
//
// Task (t, c): `columns` outputs, a multiple of 4, of the `tokens` tokens from t * tokens on, or of
// those that are left. A warp waits for no other one, so while it waits for its token's slots, the
// other warps read. Of 128 neighbouring outputs, or of several such pieces, it reads at once all
// that is added.
//
// Config: columns, tokens. Args: z f32 [slots, N], slot i32 [B, top], weight f32 [B, top], residual
// and y bf16 [B, N].
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"
#include "tile/moe/combine_experts.cuh"

namespace etc {

template <class Config, class Args>
class CombineByWarps {
  static constexpr int kTop = int(Args::slot_1);
  static constexpr int kOutputs = int(Args::z_1);
  static constexpr int kColumns = int(Config::columns);
  static constexpr int kTokens = int(Config::tokens);
  static constexpr int kPiece = 32 * 4;                              // outputs of a warp
  static constexpr int kPieces = kTop <= 4 ? 4 : kTop <= 8 ? 2 : 1;  // at once
  static_assert(kOutputs % 4 == 0 && kColumns % 4 == 0, "a lane has 4 neighbouring outputs");
  static_assert(kTop <= 32, "a lane has one of a token's slots");

 public:
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE CombineByWarps(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int t, int c) {
    int end = min(int(args.slot_0), (t + 1) * kTokens);
#pragma unroll 1
    for (int b = t * kTokens + consumer.warp; b < end; b += Consumer::kWarps) {
      Choices choices(consumer, args, b);
      int last = min((c + 1) * kColumns, kOutputs);
#pragma unroll 1
      for (int n = c * kColumns + consumer.lane * 4; n - consumer.lane * 4 < last;
           n += kPieces * kPiece) {
        Combine(args, choices, b, n, last);
      }
    }
  }

 private:
  /// Of a token: where each of its experts' results stand, and their weights.
  struct Choices {
    const float* rows[kTop];
    float weights[kTop];

    ETC_DEVICE Choices(const Consumer& consumer, const Args& args, int b) {
      i64 at = i64(b) * kTop + consumer.lane;
      u32 slot = 0, weight = 0;
      LoadRelaxedIf(slot, reinterpret_cast<const u32*>(args.slot) + at, consumer.lane < kTop);
      LoadRelaxedIf(weight, reinterpret_cast<const u32*>(args.weight) + at, consumer.lane < kTop);
#pragma unroll
      for (int s = 0; s < kTop; ++s) {
        rows[s] = args.z + i64(__shfl_sync(0xffffffffu, slot, s)) * kOutputs;
        weights[s] = BitsToFloat(__shfl_sync(0xffffffffu, weight, s));
      }
    }
  };

  /// Four outputs of each piece from n on, below `last`.
  static ETC_DEVICE void Combine(const Args& args, const Choices& choices, int b, int n, int last) {
    i64 row = i64(b) * kOutputs;
    FourBf16 old[kPieces] = {};
    Vec4 found[kPieces][kTop];
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      if (n + i * kPiece < last) {
        old[i] = *reinterpret_cast<const FourBf16*>(args.residual + row + n + i * kPiece);
      }
    }
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
#pragma unroll
      for (int s = 0; s < kTop; ++s) {
        found[i][s] = LoadGlobalIf(choices.rows[s] + n + i * kPiece, n + i * kPiece < last);
      }
    }
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      float sums[4] = {};
#pragma unroll
      for (int s = 0; s < kTop; ++s) {
        AddWeighted(sums, choices.weights[s], found[i][s]);
      }
      if (n + i * kPiece < last) {
        *reinterpret_cast<FourBf16*>(args.y + row + n + i * kPiece) = Added(old[i], sums);
      }
    }
  }
};

}  // namespace etc
