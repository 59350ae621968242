// What the experts of each token found, as CombineExperts adds it to the residual stream, by a warp
// for each token. Each output has the same bits as there, of the same numbers in bf16.
//
// Task (t, c): `columns` outputs, a multiple of 8, of the `tokens` tokens from t * tokens on, or of
// those that are left. A warp waits for no other one, so while it waits for its token's slots, the
// other warps read. Of 256 neighbouring outputs, or of several such pieces, it reads at once all
// that is added.
//
// Config: columns, tokens. Args: z bf16 [slots, N], slot i32 [B, top], weight f32 [B, top],
// residual and y bf16 [B, N].
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"

namespace etc {

template <class Config, class Args>
class CombineByWarps {
  static constexpr int kTop = int(Args::slot_1);
  static constexpr int kOutputs = int(Args::z_1);
  static constexpr int kColumns = int(Config::columns);
  static constexpr int kTokens = int(Config::tokens);
  static constexpr int kEach = 8;                                    // outputs of a lane
  static constexpr int kPiece = 32 * kEach;                          // and of a warp
  static constexpr int kPieces = kTop <= 4 ? 4 : kTop <= 8 ? 2 : 1;  // at once
  static_assert(kOutputs % kEach == 0 && kColumns % kEach == 0,
                "a lane has 8 neighbouring outputs");
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
      for (int n = c * kColumns; n < last; n += kPieces * kPiece) {
        Combine(args, choices, b, n + consumer.lane * kEach, last);
      }
    }
  }

 private:
  /// Of a token: where each of its experts' results stand, and their weights.
  struct Choices {
    const bf16* rows[kTop];
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

  /// This lane's outputs of each piece, from n on and below `last`.
  static ETC_DEVICE void Combine(const Args& args, const Choices& choices, int b, int n, int last) {
    i64 row = i64(b) * kOutputs;
    Vec4 old[kPieces], found[kPieces][kTop];
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      int at = n + i * kPiece;
      old[i] = LoadGlobalIf(args.residual + row + at, at < last);
    }
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
#pragma unroll
      for (int s = 0; s < kTop; ++s) {
        int at = n + i * kPiece;
        found[i][s] = LoadGlobalIf(choices.rows[s] + at, at < last);
      }
    }
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      float sums[kEach] = {};
#pragma unroll
      for (int s = 0; s < kTop; ++s) {
        AddWeighted(sums, choices.weights[s], found[i][s]);
      }
      if (n + i * kPiece < last) {
        StoreGlobal(args.y + row + n + i * kPiece, Added(old[i], sums));
      }
    }
  }

  static ETC_DEVICE void AddWeighted(float (&sums)[kEach], float weight, Vec4 found) {
    u32 words[4] = {found.x, found.y, found.z, found.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sums[2 * i] = fmaf(weight, LowBf16(words[i]), sums[2 * i]);
      sums[2 * i + 1] = fmaf(weight, HighBf16(words[i]), sums[2 * i + 1]);
    }
  }
  static ETC_DEVICE Vec4 Added(Vec4 old, const float (&sums)[kEach]) {
    u32 words[4] = {old.x, old.y, old.z, old.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      words[i] = PackBf16(LowBf16(words[i]) + sums[2 * i], HighBf16(words[i]) + sums[2 * i + 1]);
    }
    return {words[0], words[1], words[2], words[3]};
  }
};

}  // namespace etc
