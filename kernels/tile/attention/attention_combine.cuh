// Joins the splits of SplitKvAttention: out[b, h D + d] from partial [B, H, S, D + 2].
//
// Config: may have heads (heads of one task). Task (b, h): heads h * heads and the following.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/flagged.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"

namespace etc {

ETC_OPTION(CombineHeads, heads, int, 1);

template <class Config, class Args>
struct AttentionCombine {
  static constexpr int kRecord = int(Args::partial_3);
  static constexpr int kDim = kRecord - 2;
  static constexpr int kAllHeads = int(Args::partial_1);
  static constexpr int kHeads = int(CombineHeads<Config>::value);
  // Threads for a head: whole warps, whose lanes fetch together.
  static constexpr int kHeadThreads = DivideUp(kDim, 32) * 32;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE AttentionCombine(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int h) {
    int splits = int(args.partial_2);
#pragma unroll 1
    for (int i = consumer.thread; i < kHeads * kHeadThreads; i += Consumer::kThreads) {
      int head = h * kHeads + i / kHeadThreads;
      int d = i % kHeadThreads;
      if (head >= kAllHeads) {
        return;
      }
      auto record = args.partial + (i64(b) * kAllHeads + head) * splits * kRecord;
      float joined = Join(record, splits, kHeadThreads == kDim ? d : min(d, kDim - 1));
      if (kHeadThreads == kDim || d < kDim) {
        StoreElement(args.out, i64(b) * args.out_1 + head * kDim + d, joined);
      }
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

  /// The same of flagged records, by a whole warp. All of a batch of splits is fetched at once:
  /// each lane has its own element of every split, and the scores of one split. What is there is
  /// joined even while something is missing, which brings the code into the instruction cache.
  static ETC_DEVICE float Join(Flagged<float> record, int splits, int d) {
    constexpr int kBatch = 16;
    constexpr u32 kAll = 0xffffffffu;
    int mine = int(threadIdx.x) % kBatch;
    float old_top = -1e30f, old_sum = 0, old_weight = 0;  // finite: all of a batch may be empty
#pragma unroll 1
    for (int first = 0; first < splits; first += kBatch) {
      Flagged<float> records = record + i64(first) * kRecord;
      bool exists = first + mine < splits;
      u32 score = exists ? 0 : ToFlagged(FloatToBits(NegativeInfinity()));
      u32 exponentials = exists ? 0 : ToFlagged(0);
      u32 values[kBatch];
#pragma unroll
      for (int s = 0; s < kBatch; ++s) {
        values[s] = first + s < splits ? 0 : ToFlagged(0);
      }
      float top, sum, weight;
      bool missing;
      do {
        FetchMissing(score, records.Word(mine * kRecord + kDim));
        FetchMissing(exponentials, records.Word(mine * kRecord + kDim + 1));
#pragma unroll
        for (int s = 0; s < kBatch; ++s) {
          FetchMissing(values[s], records.Word(s * kRecord + d));
        }
        missing = score == 0 || exponentials == 0;
        float my_score = BitsToFloat(FromFlagged(score));
        float my_weight = BitsToFloat(FromFlagged(exponentials));
        top = my_score;
#pragma unroll
        for (int offset = kBatch / 2; offset > 0; offset /= 2) {
          top = fmaxf(top, __shfl_xor_sync(kAll, top, offset));
        }
        top = fmaxf(old_top, top);
        float correction = Exp2((old_top - top) * kLog2E);
        float my_factor = Exp2((my_score - top) * kLog2E);
        sum = old_sum * correction;
        weight = old_weight * correction;
#pragma unroll
        for (int s = 0; s < kBatch; ++s) {
          missing |= values[s] == 0;
          float factor = __shfl_sync(kAll, my_factor, s);
          sum = fmaf(factor, BitsToFloat(FromFlagged(values[s])), sum);
          weight = fmaf(factor, __shfl_sync(kAll, my_weight, s), weight);
        }
      } while (AnyLane(missing));
      old_top = top;
      old_sum = sum;
      old_weight = weight;
    }
    return __fdividef(old_sum, old_weight);
  }
};

}  // namespace etc
