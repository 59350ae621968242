// Norm and rotary embedding of the queries and keys of new tokens, as a reader of the cache sees
// them; values as they are.
//
// Config: query_heads; may have qk_norm and eps. Args: qkv, turned [B, (H + 2 KV) D], inv_freq
// [D / 2]; pos and row_start as rows_of_sequences.cuh has them; may have q_norm, k_norm and the
// scalar norm_offset. Task (b): one row, a warp for each head.
#pragma once

#include "engine/options.cuh"
#include "engine/roles.cuh"
#include "tile/attention/head.cuh"
#include "tile/attention/rows_of_sequences.cuh"

namespace etc {

template <class Config, class Args>
struct TurnRows {
  static constexpr int kDim = 2 * int(Args::inv_freq_0);
  static constexpr int kHeads = int(Config::query_heads);
  static constexpr int kKvHeads = (int(Args::qkv_1) / kDim - kHeads) / 2;
  static constexpr bool kNorm = QkNormOption<Config>::value;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE TurnRows(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b) {
    using Rows = RowsOfSequences<Args>;
    int lane = consumer.lane;
    int s = Rows::SequenceOf(args, b, lane);
    int position = args.pos[s] + b - Rows::First(args, s);
#pragma unroll 1
    for (int h = consumer.warp; h < kHeads + 2 * kKvHeads; h += Consumer::kWarps) {
      HeadConstants<kDim> constants(args.inv_freq, lane);
      if constexpr (kNorm) {
        constants.LoadNorm(args, h < kHeads ? args.q_norm : args.k_norm, lane);
      }
      Head<kDim> head(args.qkv + (i64(b) * args.qkv_1 + h * kDim), lane);
      if (h < kHeads + kKvHeads) {
        if constexpr (kNorm) {
          head.Normalise(constants, float(Config::eps));
        }
        head.Rotate({constants, position});
      }
      head.Store(args.turned + i64(b) * args.turned_1 + h * kDim, lane);
    }
  }
};

}  // namespace etc
