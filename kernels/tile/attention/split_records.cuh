// What the other tasks found that have a split of the same sequence, for the one that joins them:
// of one head records of D + 2 floats, the sum of exp(score - m) v, then m, then the sum of
// exp(score - m). Each thread has some neighbouring elements of one head.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/flagged.cuh"
#include "tile/attention/attention_tile.cuh"

namespace etc {

/// kAtOnce of the records are on their way at once.
template <int kDim, int run, class Pointer, int kAtOnce>
class SplitRecords {
 public:
  ETC_DEVICE SplitRecords(Pointer records, int count, int d)
      : records_(records), count_(count), d_(d) {}
  /// Adds to the thread's own sums, and to the weight; `top` is in units of log2.
  ETC_DEVICE void Join(float& top, float (&sums)[run], float& weight) const {
#pragma unroll kAtOnce
    for (int s = 0; s < count_; ++s) {
      Pointer record = records_ + s * (kDim + 2);
      float score = record[kDim] * kLog2E;
      float old = top;
      top = fmaxf(top, score);
      float correction = SoftmaxFactor(old, top), factor = SoftmaxFactor(score, top);
#pragma unroll
      for (int i = 0; i < run; ++i) {
        sums[i] = fmaf(factor, record[d_ + i], sums[i] * correction);
      }
      weight = fmaf(factor, record[kDim + 1], weight * correction);
    }
  }

 private:
  Pointer records_;
  int count_, d_;
};

/// The same of flagged records. A batch of them is fetched at once, the first as soon as this is
/// made. They are few, so each thread fetches all that it needs: to share it would take longer.
template <int kDim, int run, int kAtOnce>
class SplitRecords<kDim, run, Flagged<float>, kAtOnce> {
 public:
  ETC_DEVICE SplitRecords(Flagged<float> records, int count, int d)
      : records_(records), count_(count), d_(d) {
    Begin();
    Fetch();
  }
  ETC_DEVICE void Join(float& top, float (&sums)[run], float& weight) {
#pragma unroll 1
    while (true) {
      while (Fetch()) {
      }
      Add(top, sums, weight);
      count_ -= kBatch;
      if (count_ <= 0) {
        return;
      }
      records_ = records_ + kBatch * kRecord;
      Begin();
    }
  }

 private:
  static constexpr int kRecord = kDim + 2;
  static constexpr int kBatch = 3;

  Flagged<float> records_;  // from the batch's first on
  int count_, d_;
  u32 scores_[kBatch], weights_[kBatch], values_[kBatch][run];

  ETC_DEVICE float Score(int s) const { return BitsToFloat(FromFlagged(scores_[s])) * kLog2E; }

  /// There is nothing to fetch of records that do not exist: they weigh nothing.
  ETC_DEVICE void Begin() {
#pragma unroll
    for (int s = 0; s < kBatch; ++s) {
      bool exists = s < count_;
      scores_[s] = exists ? 0 : ToFlagged(FloatToBits(NegativeInfinity()));
      weights_[s] = exists ? 0 : ToFlagged(0);
#pragma unroll
      for (u32& value : values_[s]) {
        value = weights_[s];
      }
    }
  }
  /// Whether something was missing.
  ETC_DEVICE bool Fetch() {
    bool missing = false;
#pragma unroll
    for (int s = 0; s < kBatch; ++s) {
#pragma unroll
      for (int i = 0; i < run; ++i) {
        missing |= FetchMissing(values_[s][i], records_.Word(s * kRecord + d_ + i));
      }
      missing |= FetchMissing(scores_[s], records_.Word(s * kRecord + kDim));
      missing |= FetchMissing(weights_[s], records_.Word(s * kRecord + kDim + 1));
    }
    return missing;
  }
  ETC_DEVICE void Add(float& top, float (&sums)[run], float& weight) const {
    float old = top;
#pragma unroll
    for (int s = 0; s < kBatch; ++s) {
      top = fmaxf(top, Score(s));
    }
    float correction = SoftmaxFactor(old, top);
    weight *= correction;
#pragma unroll
    for (float& sum : sums) {
      sum *= correction;
    }
#pragma unroll
    for (int s = 0; s < kBatch; ++s) {
      float factor = SoftmaxFactor(Score(s), top);
#pragma unroll
      for (int i = 0; i < run; ++i) {
        sums[i] = fmaf(factor, BitsToFloat(FromFlagged(values_[s][i])), sums[i]);
      }
      weight = fmaf(factor, BitsToFloat(FromFlagged(weights_[s])), weight);
    }
  }
};

}  // namespace etc
