// The block sizes of a SwapAbGemm, as they follow from its configuration and the shapes of its
// operands.
//
//   MMA                wgmma m64nNk16, bf16 with float sums: M 64 weight rows, N kColumns rows of x
//   task               `rows` <= 64: both warpgroups have all rows and split k in halves
//                      `rows` > 64: blocks of up to 128 rows, 64 for each warpgroup
//   k of a ring slot   256 with split k, else 128; a rest is as if zeros stood behind it
//
//   largest batch      16      32      64      128
//   kColumns (N)       16 *    32      64      128
//   k of a stage       128     128     64 **   64        128 with two blocks of rows
//   bytes of stages    32 KB   48 KB   64 KB   80 KB     3 to 5 stages in as many bytes
//   k of a step        64, or 32 with two blocks of rows, whose sums take most registers
//
//   * 32 without split k   ** 128 without split k
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/registers.cuh"
#include "arch/sm90/wgmma.cuh"
#include "engine/layout.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/epilogues.cuh"
#include "tile/gemm/gemm_options.cuh"
#include "tile/gemm/weights.cuh"

namespace etc {

ETC_OPTION(SwapAbGemmNorm, norm, bool, false);
ETC_OPTION(SwapAbGemmFirst, first, int, 0);

template <class Config, class Args>
struct SwapAbGemmShape {
  using Epilogue = typename GemmEpilogue<Config>::type;
  static constexpr int kInputs = Epilogue::kInputs;
  static constexpr bool kGated = kInputs == 2;
  using Weights = WeightsOfGemm<Config>;
  static_assert(Weights::template kTiled<Args> && Weights::template kSwizzled<Args>,
                "the weights are in swizzled tiles of 8 x 32");
  static_assert(!SwapAbGemmNorm<Config>::value, "AddNorm norms for it");
  static constexpr bool kBias = Weights::template kBias<Config, Args>;
  static_assert(!kGated || !GemmBias<Config>::value, "a gated epilogue adds no bias");

  static constexpr int kRows = int(Config::rows);
  static_assert(kRows % 16 == 0 && kRows >= 16 && kRows <= 256,
                "`rows` is a multiple of 16 from 16 to 256");
  static_assert(Consumer::kWarps == 8, "the consumers are two warpgroups");
  static constexpr int kGroupThreads = 128;
  static constexpr bool kSplits = kRows <= 64;  // whether the warpgroups split k
  static constexpr bool kIsSplit = GemmSplitK<Config>::value > 0;
  static constexpr int kSplitK = kIsSplit ? int(GemmSplitK<Config>::value) : 1;
  static constexpr bool kSends = IsSame<Epilogue, send>::value;
  static_assert(!kIsSplit || ((IsSame<Epilogue, store>::value || kSends) && !kBias),
                "partials are plain sums");
  static_assert(!kSends || (kIsSplit && kRows == 64), "what sends has parts of 64 rows");

  // 16 rows are a pair of tiles' rows: what one warp has of a block. A gated epilogue finds both
  // inputs of an output in one thread: the upper 8 are of `w_gate` and the lower of `w_up`.
  static constexpr int kPairs = kRows / 16;
  static constexpr int kBlockPairs = kSplits ? 4 : 8;
  static constexpr int kBlocks = (kPairs + kBlockPairs - 1) / kBlockPairs;
  static ETC_DEVICE constexpr int PairsOf(int block) {
    return kPairs - block * kBlockPairs < kBlockPairs ? kPairs - block * kBlockPairs : kBlockPairs;
  }
  static constexpr int kPairOutputs = 16 / kInputs;
  static constexpr int kOutputs = GemmOutputs<Args, kIsSplit>::value;
  static_assert(kOutputs % kPairOutputs == 0, "the outputs are a multiple of 16, gated of 8");
  static constexpr int kAllPairs = kOutputs / kPairOutputs;
  static constexpr int kFirstPair = SwapAbGemmFirst<Config>::value / kPairOutputs;
  static_assert(SwapAbGemmFirst<Config>::value % kPairOutputs == 0,
                "`first` is a multiple of 16, gated of 8");
  // Whether no task has fewer pairs than the others.
  static constexpr bool kEven = (kAllPairs - kFirstPair) % kPairs == 0;

  // A slot is a chunk of k of a block: two units of 64 for each warpgroup.
  static constexpr int kDepth = int(Args::x_1);
  static constexpr int kUnit = 64;
  static constexpr int kChunkUnits = 2;
  static constexpr int kSlotDepth = (kSplits ? 2 : 1) * kChunkUnits * kUnit;
  static constexpr int kChunks = DivideUp(kDepth, kSlotDepth);
  static_assert(kDepth % kTileColumns == 0, "k is a multiple of 32");
  static constexpr int kTail = kDepth - (kChunks - 1) * kSlotDepth;  // k of the last chunk
  static constexpr bool kRagged = kTail != kSlotDepth;
  static constexpr int kSplitDepth = 256;  // splits have whole pieces of as many k, but the last
  static constexpr int kPieces = DivideUp(kDepth, kSplitDepth);
  static_assert(kSplitK <= kPieces, "a split has 256 k, or the last ones");
  static constexpr int kTileRowBytes = kTileRows * kSlotDepth * 2;
  static constexpr int kSlotBytes = PairsOf(0) * 2 * kTileRowBytes;

  static constexpr int Columns(int least) {
    return int(Config::max_batch) > least ? Columns(2 * least) : least;
  }
  static constexpr int kColumns = Columns(kSplits ? 16 : 32);
  static_assert(kColumns <= 128, "`max_batch` is at most 128");

  // A stage is one unit of all columns, or two where they are few: fewer barriers. Of several
  // blocks each reads the whole chunk.
  static constexpr int kUnits = kColumns <= (kSplits ? 32 : 64) || kBlocks > 1 ? 2 : 1;
  static constexpr int kUnitBytes = kColumns * kUnit * 2;
  static constexpr int kStageBytes = kUnits * kUnitBytes;
  static constexpr int kChunkStages = kChunkUnits / kUnits;
  // A step is what is multiplied from one of two sets of registers: a unit, or half of it where the
  // sums of two blocks take most of them.
  static constexpr int kStepTiles = kBlocks == 1 ? 2 : 1;
  static constexpr int kSteps = kChunkUnits * kUnit / (kStepTiles * kTileColumns);  // of a chunk
  static constexpr int kStageSteps = kSteps / kChunkStages;
  static constexpr int kStagings = kSplits ? 2 : 1;  // by each warpgroup, or by both together
  // Of fewer columns less, so that the ring has a slot more.
  static constexpr int kStagesBytes = kColumns <= 16   ? 32768
                                      : kColumns <= 32 ? 49152
                                      : kColumns <= 64 ? 65536
                                                       : 81920;
  static constexpr int kWantedStages = kStagesBytes / (kStagings * kStageBytes);
  static constexpr int kStages = kWantedStages < 3 ? 3 : (kWantedStages > 5 ? 5 : kWantedStages);
  // Who stages: thread t fetches k 8 (t % 8) and the next 7 of column t / 8 of each round.
  static constexpr int kFetchers = kSplits ? kGroupThreads : Consumer::kThreads;
  static constexpr int kRoundColumns = kFetchers / 8;
  static constexpr int kRounds = kColumns / kRoundColumns;

  static constexpr int kAtomBytes = 1024;
  static constexpr int kScratchBytes = kAtomBytes + kStagings * kStages * kStageBytes;
  static constexpr int kFirstBarrier = 4;  // a hardware barrier for each warpgroup

  /// Where in a block this warp's pair is; a block may have fewer.
  static ETC_DEVICE int PairInBlock(const Consumer& consumer) {
    return Opaque(consumer.warp) % kBlockPairs;
  }

  /// Of a split of k.
  static ETC_DEVICE int FirstChunk(int p) {
    int chunk = p * kPieces / kSplitK * (kSplitDepth / kSlotDepth);
    return kPieces * kSplitDepth == kChunks * kSlotDepth ? chunk : min(chunk, kChunks);
  }
  /// Whether there are weights at k of a chunk.
  static ETC_DEVICE bool Has(int chunk, int k) {
    return !kRagged || chunk + 1 < kChunks || k < kTail;
  }
};

}  // namespace etc
