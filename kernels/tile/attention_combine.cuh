// Joins the splits of DecodeAttention: out[b, h D + d] from partial [B, H, S, D + 2].
//
// Config: may have heads (heads of one task). Task (b, h): heads h * heads and the following.
#pragma once

#include "arch/math.cuh"
#include "arch/tagged.cuh"
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
      auto record = args.partial + (i64(b) * kAllHeads + head) * splits * kRecord;
      StoreElement(args.out, i64(b) * args.out_1 + head * kDim + d, Join(record, splits, d));
    }
  }

 private:
  /// Element d of the joined splits.
  static ETC_DEVICE float Join(const float* record, int splits, int d) {
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
    return __fdividef(sum, weight);
  }

  /// The same of tagged records: all of a batch of splits are fetched at once.
  static ETC_DEVICE float Join(Tagged<float> record, int splits, int d) {
    constexpr int kBatch = 16;
    float top = NegativeInfinity(), sum = 0, weight = 0;
#pragma unroll 1
    for (int first = 0; first < splits; first += kBatch) {
      u64 values[kBatch], tops[kBatch], weights[kBatch];
#pragma unroll
      for (int s = 0; s < kBatch; ++s) {
        bool exists = first + s < splits;
        values[s] = weights[s] = exists ? 0 : TagWord(0, record.tag);
        tops[s] = exists ? 0 : TagWord(FloatToBits(NegativeInfinity()), record.tag);
      }
      bool missing = true;
      while (missing) {
        missing = false;
#pragma unroll
        for (int s = 0; s < kBatch; ++s) {
          const u64* words = record.words + i64(first + s) * kRecord;
          missing |= FetchMissing(values[s], words + d, record.tag);
          missing |= FetchMissing(tops[s], weights[s], words + kDim, record.tag);
        }
      }
      float old = top;
#pragma unroll
      for (int s = 0; s < kBatch; ++s) {
        top = fmaxf(top, BitsToFloat(u32(tops[s])));
      }
      float correction = Exp2((old - top) * kLog2E);
      sum *= correction;
      weight *= correction;
#pragma unroll
      for (int s = 0; s < kBatch; ++s) {
        float factor = Exp2((BitsToFloat(u32(tops[s])) - top) * kLog2E);
        sum = fmaf(factor, BitsToFloat(u32(values[s])), sum);
        weight = fmaf(factor, BitsToFloat(u32(weights[s])), weight);
      }
    }
    return __fdividef(sum, weight);
  }
};

}  // namespace etc
