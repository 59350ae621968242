// The largest score of each chunk of a row, and the first token that has it.
//
// Config: chunk. Task (b, c): tokens c * chunk .. of row b, to largest and first [B, C]. Args:
// those of scores.cuh.
#pragma once

#include "tile/pointwise/argmax.cuh"
#include "tile/sampling/scores.cuh"

namespace etc {

template <class Config, class Args>
struct LargestScores {
  static constexpr int kVocabulary = int(Args::logits_1);
  static constexpr int kChunk = int(Config::chunk);
  using Piece = RowPiece<float, kVocabulary>;
  static_assert(kChunk % 4 == 0, "a chunk is made of whole pieces");
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = kWinnersBytes;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE LargestScores(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int c) {
    int s = RowsOfDraws<Args>::SequenceOf(args, b, consumer.lane);
    const RowScores<Args> scores(args, b, args.slot[s]);
    int begin = c * kChunk;
    int end = min(begin + kChunk, kVocabulary);
    Candidate best = scores.penalty == 1.0f ? Best<false, 8>(consumer, scores, begin, end)
                                            : Best<true, 2>(consumer, scores, begin, end);
    best = JoinWarps(consumer, parity_, best);
    if (consumer.thread == 0) {
      args.largest[i64(b) * args.largest_1 + c] = best.value;
      args.first[i64(b) * args.first_1 + c] = best.index;
    }
    parity_ ^= 1;
  }

 private:
  template <bool is_penalised, int unrolled>
  static ETC_DEVICE Candidate Best(const Consumer& consumer, const RowScores<Args>& scores,
                                   int begin, int end) {
    Candidate best{NegativeInfinity(), begin};
#pragma unroll unrolled
    for (int v = begin + consumer.thread * Piece::kElements; v < end;
         v += Consumer::kThreads * Piece::kElements) {
      const Piece piece = *reinterpret_cast<const Piece*>(scores.logits + v);
#pragma unroll
      for (int i = 0; i < Piece::kElements; ++i) {
        best.Challenge(scores.template Of<is_penalised>(piece.elements[i], v + i), v + i);
      }
    }
    return best;
  }

  int parity_ = 0;
};

}  // namespace etc
