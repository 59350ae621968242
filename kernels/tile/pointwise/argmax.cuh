// The index of the largest logit, the lowest of equals: chunks first, then the chunks' winners.
//
// ArgMaxPartial. Config: chunk. Task (b, c): logits[b, c * chunk ..] to best_value and best_index
// [B, C]. ArgMaxFinal. Task (b): best_value and best_index [B, C] to token [B].
// ArgMaxOfBlocks. Task (b): logits [B, V] and the largest [V / n, B] of every n of them, as a GEMM
// with the epilogue 'largest leaves them, to token [B].
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/flagged.cuh"
#include "engine/roles.cuh"

namespace etc {

struct Candidate {
  float value;
  int index;

  ETC_DEVICE void Challenge(float other_value, int other_index) {
    if (other_value > value || (other_value == value && other_index < index)) {
      value = other_value;
      index = other_index;
    }
  }
  /// The winner among the warp's candidates, in every lane.
  ETC_DEVICE void MergeLanes() {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      float other_value = __shfl_xor_sync(0xffffffffu, value, offset);
      int other_index = __shfl_xor_sync(0xffffffffu, index, offset);
      Challenge(other_value, other_index);
    }
  }
  static ETC_DEVICE Candidate None() { return {NegativeInfinity(), 0x7fffffff}; }
};

constexpr int kWinnersBytes = 2 * Consumer::kWarps * int(sizeof(Candidate));

/// The winner among the candidates of all consumers, in thread 0. Two halves of scratch by turns.
ETC_DEVICE Candidate JoinWarps(Consumer& consumer, int parity, Candidate best) {
  best.MergeLanes();
  Candidate* winners = reinterpret_cast<Candidate*>(consumer.scratch) + parity * Consumer::kWarps;
  if (consumer.lane == 0) {
    winners[consumer.warp] = best;
  }
  consumer.Sync();
  if (consumer.thread == 0) {
#pragma unroll
    for (int warp = 1; warp < Consumer::kWarps; ++warp) {
      best.Challenge(winners[warp].value, winners[warp].index);
    }
  }
  return best;
}

template <class Config, class Args>
struct ArgMaxPartial {
  static constexpr int kChunk = int(Config::chunk);
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = kWinnersBytes;

  // What a thread loads at once: 16 bytes where rows and chunks are made of such pieces.
  using Logit = typename ElementOf<decltype(Args::logits)>::type;
  static constexpr int kWide = 16 / int(sizeof(Logit));
  static constexpr int kPiece = Args::logits_1 % kWide == 0 && kChunk % kWide == 0 ? kWide : 1;
  struct alignas(kPiece * sizeof(Logit)) Piece {
    Logit logits[kPiece];
  };

  int parity = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int, int) {}

  ETC_DEVICE ArgMaxPartial(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b, int c) {
    const auto* logits = args.logits + i64(b) * args.logits_1;
    int begin = c * kChunk;
    int end = min(begin + kChunk, int(args.logits_1));
    Candidate best = Candidate::None();
#pragma unroll 8
    for (int i = begin + consumer.thread * kPiece; i < end; i += Consumer::kThreads * kPiece) {
      const Piece piece = *reinterpret_cast<const Piece*>(logits + i);
#pragma unroll
      for (int j = 0; j < kPiece; ++j) {
        best.Challenge(ToFloat(piece.logits[j]), i + j);
      }
    }
    best = JoinWarps(consumer, parity, best);
    if (consumer.thread == 0) {
      args.best_value[i64(b) * args.best_value_1 + c] = best.value;
      args.best_index[i64(b) * args.best_index_1 + c] = best.index;
    }
    parity ^= 1;
  }
};

template <class Config, class Args>
struct ArgMaxFinal {
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE ArgMaxFinal(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b) {
    if (consumer.warp != 0) {
      return;
    }
    const float* value = args.best_value + i64(b) * args.best_value_1;
    const i32* index = args.best_index + i64(b) * args.best_index_1;
    Candidate best = Candidate::None();
#pragma unroll 4
    for (int c = consumer.lane; c < int(args.best_value_1); c += 32) {
      best.Challenge(value[c], index[c]);
    }
    best.MergeLanes();
    if (consumer.lane == 0) {
      args.token[b] = best.index;
    }
  }
};

template <class Config, class Args>
struct ArgMaxOfBlocks {
  static constexpr int kBlocks = int(Args::largest_0);
  static constexpr int kBlock = int(Args::logits_1) / kBlocks;
  static_assert(kBlock <= 32 && kBlock * kBlocks == Args::logits_1, "blocks of equal size");
  // One SM reads all blocks while the others have nothing to do: what the registers of its threads
  // hold is on its way at once.
  static constexpr int kRounds = DivideUp(kBlocks, Consumer::kThreads);
  static constexpr int kAtOnce = DivideUp(kRounds, DivideUp(kRounds, 48));
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes = kWinnersBytes;

  int parity = 0;

  static ETC_DEVICE void Load(Loader&, const Args&, int) {}

  ETC_DEVICE ArgMaxOfBlocks(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int b) {
    // The first of all, and of a block, where no logit is larger than minus infinity, as one that
    // is not a number.
    Candidate block{NegativeInfinity(), 0};
#pragma unroll 1
    for (int first = consumer.thread; first < kBlocks; first += kAtOnce * Consumer::kThreads) {
      float values[kAtOnce];
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        const int i = first + j * Consumer::kThreads;
        values[j] = i < kBlocks ? args.largest[i64(i) * args.largest_1 + b] : NegativeInfinity();
      }
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        block.Challenge(values[j], first + j * Consumer::kThreads);
      }
    }
    block = JoinWarps(consumer, parity, block);
    if (consumer.warp == 0) {
      int first = __shfl_sync(0xffffffffu, block.index, 0) * kBlock;
      Candidate best{NegativeInfinity(), first};
      if (consumer.lane < kBlock) {
        int i = first + consumer.lane;
        best.Challenge(args.logits[i64(b) * args.logits_1 + i], i);
      }
      best.MergeLanes();
      if (consumer.lane == 0) {
        args.token[b] = best.index;
      }
    }
    parity ^= 1;
  }
};

}  // namespace etc
