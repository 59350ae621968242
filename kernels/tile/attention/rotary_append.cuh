// Norm and rotary embedding of one new token's q and k, and the append of k and v to the cache.
//
// Config: may have qk_norm and eps. Args: qkv [B, (H + 2 KV) D], pos [B], inv_freq [D / 2], q [B, H
// D], k_cache, v_cache and page_table as kv_pages.cuh has them. Task (b): one sequence, a warp for
// each head.
#pragma once

#include "engine/options.cuh"
#include "engine/roles.cuh"
#include "tile/attention/head.cuh"
#include "tile/attention/kv_pages.cuh"

namespace etc {

template <class Config, class Args>
struct RotaryAppend {
  static constexpr int kDim = int(Args::k_cache_3);
  static constexpr int kKvHeads = int(Args::k_cache_1);
  static constexpr int kHeads = int(Args::q_1) / kDim;
  static constexpr bool kNorm = QkNormOption<Config>::value;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE RotaryAppend(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b) {
    int position = args.pos[b];
    int page = KvPages<Args>::Page(args, b, position);
    int lane = consumer.lane;
#pragma unroll 1
    for (int h = consumer.warp; h < kHeads + 2 * kKvHeads; h += Consumer::kWarps) {
      bool is_query = h < kHeads, is_value = h >= kHeads + kKvHeads;
      HeadConstants<kDim> constants(args.inv_freq, lane);
      if constexpr (kNorm) {
        constants.LoadNorm(args, is_query ? args.q_norm : args.k_norm, lane);
      }
      Head<kDim> head(args.qkv + i64(b) * args.qkv_1 + h * kDim, lane);
      if (!is_value) {
        if constexpr (kNorm) {
          head.Normalise(constants, float(Config::eps));
        }
        head.Rotate({constants, position});
      }
      if (is_query) {
        head.Store(args.q + i64(b) * args.q_1 + h * kDim, lane);
      } else {
        i64 row = KvPages<Args>::Row(page, (h - kHeads) % kKvHeads, position);
        head.Store((is_value ? args.v_cache : args.k_cache) + row, lane);
      }
    }
  }
};

}  // namespace etc
