// The epilogue of a SwapAbGemm: warpgroups that split k exchange their sums, and each warp stores
// the outputs of its pair of tiles' rows.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/mma.cuh"
#include "arch/sm90/registers.cuh"
#include "engine/peers.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/swap_ab_activations.cuh"
#include "tile/gemm/swap_ab_gemm_shape.cuh"

namespace etc {

/// Of a task's first kColumns columns.
template <class Config, class Args, int kColumns = SwapAbGemmShape<Config, Args>::kColumns>
class SwapAbEpilogue {
  using Shape = SwapAbGemmShape<Config, Args>;
  using Epilogue = typename Shape::Epilogue;
  using Activations = SwapAbActivations<Config, Args>;

 public:
  /// Ends a task with what its main loop has summed up.
  static ETC_DEVICE void End(Consumer& consumer, const Args& args, const Activations& x, int m,
                             int p, const float (&sums)[Shape::kBlocks][kColumns / 2]) {
    if constexpr (Shape::kSplits) {
      float ends[kEndColumns / 2];
      Exchange(consumer, x, sums[0], ends);
      consumer.Sync();
      if constexpr (Shape::kSends) {
        Send(consumer, args, x, m, p, ends);
      } else {
        Store(consumer, args, x.group, m, p, 0, ends);
      }
    } else {
#pragma unroll
      for (int block = 0; block < Shape::kBlocks; ++block) {
        Store(consumer, args, x.group, m, p, block, sums[block]);
      }
    }
  }

 private:
  /// Columns whose sums a thread ends with.
  static constexpr int kEndColumns = Shape::kSplits ? kColumns / 2 : kColumns;

  /// Adds the sums of both warpgroups: each ends half of the columns. By way of the last stage,
  /// which is free, until the caller's next barrier.
  static ETC_DEVICE void Exchange(Consumer& consumer, const Activations& x,
                                  const float (&sums)[kColumns / 2],
                                  float (&ends)[kEndColumns / 2]) {
    constexpr int half = kColumns / 4;  // a thread's sums of half of the columns
    static_assert(half * 4 * Shape::kGroupThreads <= Shape::kStageBytes,
                  "a stage holds what is exchanged");
    u32 mine = x.Last() + consumer.thread % Shape::kGroupThreads * 16;
    u32 other = mine + (x.group == 0 ? 1 : -1) * Shape::kStages * Shape::kStageBytes;
    bool upper = x.group != 0;
    x.SyncFetchers(consumer);
#pragma unroll
    for (int i = 0; i < half; i += 4) {
      u32 word[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        word[j] = FloatToBits(upper ? sums[i + j] : sums[half + i + j]);
        ends[i + j] = upper ? sums[half + i + j] : sums[i + j];
      }
      StoreShared(mine + i * 4 * Shape::kGroupThreads, Vec4{word[0], word[1], word[2], word[3]});
    }
    consumer.Sync();
#pragma unroll
    for (int i = 0; i < half; i += 4) {
      Vec4 word = LoadShared(other + i * 4 * Shape::kGroupThreads);
      ends[i] += BitsToFloat(word.x), ends[i + 1] += BitsToFloat(word.y);
      ends[i + 2] += BitsToFloat(word.z), ends[i + 3] += BitsToFloat(word.w);
    }
  }

  /// Stores what this warpgroup ends of a task at every rank, as part p of the own one's: by way of
  /// its last stage, as what goes over a link should be whole lines.
  static ETC_DEVICE void Send(Consumer& consumer, const Args& args, const Activations& x, int m,
                              int p, const float (&sums)[kEndColumns / 2]) {
    constexpr int ranks = int(Args::y_0) / Shape::kSplitK;
    const auto& peers = args.dims.peers;
    const auto distances = peers.template DistancesBehind<ranks>();
    u32 stage = x.Last();
    int lane = Opaque(consumer.lane);
    int first = Shape::PairInBlock(consumer) * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < kEndColumns / 2; ++i) {
      int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      StoreShared(stage + SentPlace(column, first + i % 4 / 2 * 8), sums[i]);
    }
    x.SyncFetchers(consumer);
    constexpr int kLineThreads = kSentRows / 4;
    constexpr int kRoundColumns = Shape::kGroupThreads / kLineThreads;
    int thread = Opaque(consumer.thread) % Shape::kGroupThreads;
    int row = thread % kLineThreads * 4;
    i64 part = (peers.rank * Shape::kSplitK + p) * args.x_0;
#pragma unroll
    for (int round = 0; round < kEndColumns / kRoundColumns; ++round) {
      int column = round * kRoundColumns + thread / kLineThreads;
      i64 b = x.group * kEndColumns + column;
      i64 n = i64(m) * kSentRows + row;
      if (b < args.x_0 && (Shape::kEven || n < Shape::kOutputs)) {
        Vec4 words = LoadShared(stage + SentPlace(column, row));
        i64 at = (part + b) * Shape::kOutputs + n;
#pragma unroll
        for (i64 distance : distances.to) {
          StoreSums(peers.Moved(args.y.own, distance), at, words);
        }
      }
    }
  }

  static ETC_DEVICE void StoreSums(float* to, i64 at, Vec4 sums) { StoreGlobal(to + at, sums); }
  static ETC_DEVICE void StoreSums(const Phased<float>& to, i64 at, Vec4 sums) {
    StoreRelaxed(to.Word(u32(at)), to.Of(sums));
  }

  /// Where in a stage a sum stands that is sent. Eight lanes have neighbouring rows, and those of
  /// four columns are in different banks.
  static constexpr int kSentRows = 64;
  static ETC_DEVICE u32 SentPlace(int column, int row) {
    return (column * kSentRows + (row / 8 ^ column / 2 % 4) * 8 + row % 8) * 4;
  }

  /// The epilogue of this warp's pair of a block, if it has one. Results of 16 bits change places
  /// between lanes, so that a store takes two neighbours, and residuals do before they are added.
  static ETC_DEVICE void Store(const Consumer& consumer, const Args& args, int group, int m, int p,
                               int block, const float (&sums)[kEndColumns / 2]) {
    int in_block = Shape::PairInBlock(consumer);
    int pair = Shape::kFirstPair + m * Shape::kPairs + block * Shape::kBlockPairs + in_block;
    if (in_block >= Shape::PairsOf(block) || (!Shape::kEven && pair >= Shape::kAllPairs)) {
      return;
    }
    int first_column = Shape::kSplits ? group * kEndColumns : 0;
    Residuals residuals;
    residuals.Load(consumer, args, pair, first_column);
    using Y = typename ElementOf<decltype(Args::y)>::type;
    int lane = Opaque(consumer.lane);
    int row = lane / 4, quad = lane % 4;
    i64 n = i64(pair) * Shape::kPairOutputs;
    float bias[2];
    if constexpr (Shape::kBias) {
      const bf16* from = Shape::Weights::Bias(args, n);
      bias[0] = ToFloat(from[row]);
      bias[1] = ToFloat(from[row + 8]);
    }
#pragma unroll
    for (int j = 0; j < kEndColumns / 8; ++j) {
      int first = first_column + j * 8;
      float value[4] = {sums[4 * j], sums[4 * j + 1], sums[4 * j + 2], sums[4 * j + 3]};
      if constexpr (Shape::kBias) {
        value[0] += bias[0], value[1] += bias[0];
        value[2] += bias[1], value[3] += bias[1];
      }
      if constexpr (Residuals::kAny) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          u32 added = Transpose8x8(residuals.words[j][half]);
          value[2 * half] += LowBf16(added);
          value[2 * half + 1] += HighBf16(added);
        }
      }
      if constexpr (Shape::kGated) {
        value[0] = Epilogue::Gate(value[0], value[2]);
        value[1] = Epilogue::Gate(value[1], value[3]);
      }
      if constexpr (sizeof(Y) == 2) {
        int b = first + row;
#pragma unroll
        for (int half = 0; half < 2 / Shape::kInputs; ++half) {
          u32 packed = Transpose8x8(PackBf16(value[2 * half], value[2 * half + 1]));
          if (b < args.x_0) {
            Y* to = args.y + i64(b) * Shape::kOutputs + n + half * 8 + quad * 2;
            *reinterpret_cast<u32*>(to) = packed;
          }
        }
      } else {
#pragma unroll
        for (int i = 0; i < 4 / Shape::kInputs; ++i) {
          i64 b = first + quad * 2 + i % 2;
          if (b < args.x_0) {
            args.y[(p * args.x_0 + b) * Shape::kOutputs + n + i / 2 * 8 + row] = value[i];
          }
        }
      }
      if constexpr (Epilogue::kFindsLargest) {
        static_assert(Shape::kPairOutputs == Epilogue::kBlock, "a pair has one block of outputs");
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float largest = LaneMax<4, 32>(fmaxf(value[i], value[i + 2]));
          int b = first + quad * 2 + i;
          if (row == 0 && b < args.x_0) {
            args.largest[i64(pair) * args.x_0 + b] = largest;
          }
        }
      }
    }
  }

  /// What the epilogue adds, of column `lane / 4` of every 8, two neighbours of its row at a time.
  struct Residuals {
    static constexpr bool kAny = IsSame<Epilogue, residual>::value;
    u32 words[kAny ? kEndColumns / 8 : 1][2];

    template <class A>
    ETC_DEVICE void Load(const Consumer& consumer, const A& args, int pair, int first) {
      if constexpr (kAny) {
        int lane = Opaque(consumer.lane);
#pragma unroll
        for (int j = 0; j < kEndColumns / 8; ++j) {
          int b = first + j * 8 + lane / 4;
          i64 n = i64(pair) * Shape::kPairOutputs + lane % 4 * 2;
          const bf16* from = args.residual + b * args.residual_1 + n;
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            words[j][half] = 0;
            if (b < args.x_0) {
              words[j][half] = *reinterpret_cast<const u32*>(from + half * 8);
            }
          }
        }
      }
    }
  };
};

}  // namespace etc
