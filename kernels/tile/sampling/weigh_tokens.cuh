// Distances of the tokens of a chunk from the best one of the row, and how many tokens and how much
// weight are in each bin of distances. A row that is not drawn has none: nobody reads them.
//
// Config: chunk. Task (b, c): tokens c * chunk .. of row b, to distance i32 [B, V], count i32 [B,
// C, N] and mass i64 [B, C, N]. Args: those of scores.cuh; temperature [P], largest f32 [B, C].
#pragma once

#include "arch/common/math.cuh"
#include "tile/sampling/histogram.cuh"

namespace etc {

template <class Config, class Args>
struct WeighTokens {
  static constexpr int kVocabulary = int(Args::logits_1);
  static constexpr int kChunk = int(Config::chunk);
  static constexpr int kBins = int(Args::count_2);
  using Piece = RowPiece<float, kVocabulary>;
  using Distances = RowPiece<i32, kVocabulary>;
  static_assert(kChunk % 4 == 0, "a chunk is made of whole pieces");
  static_assert(kBins <= Histogram::kBins, "a thread has a bin");
  // So many tokens that a bin holds all of them.
  static constexpr int kBlock = Histogram::kMostTokens;
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = int(sizeof(Histogram::Scratch));

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE WeighTokens(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int c) {
    int slot = args.slot[RowsOfDraws<Args>::SequenceOf(args, b, consumer.lane)];
    float temperature = args.temperature[slot];
    if (!IsDrawn(temperature)) {
      return;
    }
    Histogram histogram(consumer, *reinterpret_cast<Histogram::Scratch*>(consumer.scratch));
    const RowScores<Args> scores(args, b, slot);
    float scale = DistanceScale(temperature);
    float largest = NegativeInfinity();
    for (int i = consumer.lane; i < int(args.largest_1); i += 32) {
      largest = fmaxf(largest, args.largest[i64(b) * args.largest_1 + i]);
    }
    largest = LaneMax<1, 32>(largest);
    i32* distances = args.distance + i64(b) * kVocabulary;
    int last = min((c + 1) * kChunk, kVocabulary);
    Amount sum;
#pragma unroll 1
    for (int begin = c * kChunk; begin < last; begin += kBlock) {
      consumer.Sync();  // the task or the block before has been read
      histogram.Clear();
      consumer.Sync();
      int end = min(begin + kBlock, last);
      if (scores.penalty == 1.0f) {
        Weigh<false, 4>(consumer, scores, histogram, distances, begin, end, largest, scale);
      } else {
        Weigh<true, 1>(consumer, scores, histogram, distances, begin, end, largest, scale);
      }
      consumer.Sync();
      sum.Add(histogram.Own());
    }
    if (consumer.thread < kBins) {
      i64 place = (i64(b) * args.count_1 + c) * kBins + consumer.thread;
      args.count[place] = i32(sum.count);
      args.mass[place] = i64(sum.mass);
    }
  }

 private:
  template <bool is_penalised, int unrolled>
  static ETC_DEVICE void Weigh(const Consumer& consumer, const RowScores<Args>& scores,
                               Histogram& histogram, i32* distances, int begin, int end,
                               float largest, float scale) {
#pragma unroll unrolled
    for (int v = begin + consumer.thread * Piece::kElements; v < end;
         v += Consumer::kThreads * Piece::kElements) {
      const Piece piece = *reinterpret_cast<const Piece*>(scores.logits + v);
      Distances found;
#pragma unroll
      for (int i = 0; i < Piece::kElements; ++i) {
        float score = scores.template Of<is_penalised>(piece.elements[i], v + i);
        found.elements[i] = DistanceOf(score, largest, scale);
        if (found.elements[i] < kFar) {
          histogram.Add(found.elements[i] >> kBinBits, found.elements[i]);
        }
      }
      *reinterpret_cast<Distances*>(distances + v) = found;
    }
  }
};

}  // namespace etc
