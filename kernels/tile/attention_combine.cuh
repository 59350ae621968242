// Joins the splits of DecodeAttention: out[b, h D + d] from partial [B, H, S, D + 2].
//
// Config: may have heads (heads of one task). Task (b, h): heads h * heads and the following.
#pragma once

#include "arch/math.cuh"
#include "tile/options.cuh"
#include "tile/roles.cuh"

namespace etc {

ETC_OPTION(CombineHeads, heads, int, 1);

template <class Config, class Args>
struct AttentionCombine {
  static constexpr int kRecord = int(Args::partial_3);
  static constexpr int kDim = kRecord - 2;
  static constexpr int kAllHeads = int(Args::partial_1);
  static constexpr int kHeads = int(CombineHeads<Config>::value);
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE AttentionCombine(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int h) {
    int splits = int(args.partial_2);
#pragma unroll 1
    for (int i = consumer.thread; i < kHeads * kDim; i += Consumer::kThreads) {
      int head = h * kHeads + i / kDim;
      int d = i % kDim;
      if (head >= kAllHeads) {
        return;
      }
      const float* record = args.partial + (i64(b) * kAllHeads + head) * splits * kRecord;
      float top = NegativeInfinity();
#pragma unroll 8
      for (int s = 0; s < splits; ++s) {
        top = fmaxf(top, record[s * kRecord + kDim]);
      }
      float sum = 0, weight = 0;
#pragma unroll 8
      for (int s = 0; s < splits; ++s) {
        float factor = Exp2((record[s * kRecord + kDim] - top) * kLog2E);
        sum = fmaf(factor, record[s * kRecord + d], sum);
        weight = fmaf(factor, record[s * kRecord + kDim + 1], weight);
      }
      StoreFloat(args.out + i64(b) * args.out_1 + head * kDim + d, __fdividef(sum, weight));
    }
  }
};

}  // namespace etc
