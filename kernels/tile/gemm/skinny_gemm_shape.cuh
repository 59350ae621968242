// The block sizes of a SkinnyGemm, as they follow from its configuration and the shapes of its
// operands.
//
//   MMA                mma.sync m16n8k16, bf16 with float sums: M 8 or 16 weight rows, N 8 rows of
//   x task               `rows` weight rows, in groups of 8 or 16; all rows of x, up to `max_batch`
//   k of a ring slot   `chunk_k`, by default 8192 / rows of a group: 16 KB of weights
//   k of a warp        32 of every 32 * 8 warps; a lane has 8 neighbours, by one load of 16 bytes;
//                      of a rest, some warps have fewer
//   ring stages        what shared memory has room for, at most the schedule's `depth`
//   activations        in registers for a whole share where they fit (kHoldable), else chunk by
//                      chunk with two chunks on their way
//   chains of sums     4 for one tile of x and one group of rows, else 2
#pragma once

#include "arch/sm90/flagged.cuh"
#include "engine/options.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/epilogues.cuh"
#include "tile/gemm/gemm_options.cuh"
#include "tile/gemm/skinny_activations.cuh"
#include "tile/gemm/weights.cuh"

namespace etc {

ETC_OPTION(SkinnyGemmChunk, chunk_k, int, 0);
ETC_OPTION(SkinnyGemmNorm, norm, bool, false);
ETC_OPTION(SkinnyGemmSingle, single, bool, false);

template <class Config, class Args>
struct SkinnyGemmShape {
  using Epilogue = typename GemmEpilogue<Config>::type;
  static constexpr bool kGated = Epilogue::kInputs == 2;
  using Weights = WeightsOfGemm<Config>;
  static constexpr bool kNorm = SkinnyGemmNorm<Config>::value;
  static constexpr bool kBias = Weights::template kBias<Config, Args>;
  static_assert(!kGated || !GemmBias<Config>::value, "a gated epilogue adds no bias");

  static constexpr int kWarps = Consumer::kWarps;
  static constexpr int kRows = int(Config::rows);
  static constexpr int kDepth = int(Args::x_1);
  static constexpr int kStep = 32 * kWarps;  // k that all warps take with one load of each lane
  static constexpr bool kSingle = SkinnyGemmSingle<Config>::value;
  static_assert(kRows % 8 == 0 && (kSingle || kRows <= 16), "`rows` is 8 or 16");
  static constexpr int kGroupRows =
      kRows <= 16 || (kRows % 16 == 0 && (kGated || kDepth <= 4096)) ? (kRows < 16 ? 8 : 16) : 8;
  static constexpr int kGroups = kRows / kGroupRows;
  static constexpr int kAllGroups =
      Epilogue::template kColumns<Args> * Epilogue::kInputs / kGroupRows;
  static_assert(kDepth % kTileColumns == 0, "k is a multiple of 32");

  static constexpr int kGivenChunk = int(SkinnyGemmChunk<Config>::value);
  static constexpr int kWantedChunk = kGivenChunk > 0 ? kGivenChunk : 8192 / kGroupRows;
  static constexpr int kChunk = kWantedChunk < kDepth ? kWantedChunk : kDepth;
  static constexpr int kChunks = DivideUp(kDepth, kChunk);
  static_assert(kChunks == 1 || kChunk % kStep == 0,
                "`chunk_k` is a multiple of 32 for each consumer warp");
  static constexpr int kBlocks = DivideUp(kChunk, kStep);  // loads of a lane, for each 8 rows
  static constexpr int kAllBlocks = DivideUp(kDepth, kStep);

  // What a slot is copied in: row by row, or 8 rows of tiles at once.
  static constexpr bool kTiled = Weights::template kTiled<Args>;
  static constexpr bool kSwizzled = Weights::template kSwizzled<Args>;
  static_assert(!kTiled || !kGated || kGroupRows == 16,
                "`rows` is 16 where `w_gate` and `w_up` are in tiles");
  static constexpr int kPieceRows = kTiled ? kTileRows : 1;
  // Rows at odd multiples of 64 bytes: the two that eight lanes read at once lie in different
  // banks.
  static constexpr int kPieceStride =
      kPieceRows * kChunk * 2 + (kTiled || kChunk % 64 != 0 ? 0 : 64);
  static constexpr int kSlotBytes = kGroupRows / kPieceRows * kPieceStride;
  // From a lane's operand to that of its next block, and to that of the other 8 rows.
  static constexpr int kBlockStride = kPieceRows * 64;
  static constexpr int kHalfStride = kTileRows / kPieceRows * kPieceStride;

  static constexpr int kTiles = DivideUp(int(Config::max_batch), 8);
  static constexpr int kHalves = kGroupRows / 8;
  // What a warp hands to the epilogue warp: sums of every row for each b, then the squares of x.
  // The stride lets the lanes' stores fall into different banks.
  static constexpr int kPartialStride = kRows + 4;
  static constexpr int kSums = kTiles * 8 * kPartialStride;
  static constexpr int kPartial = kSums + (kNorm ? kTiles * 8 : 0);  // floats
  static constexpr int kPartialsBytes =
      kSingle ? DivideUp(kWarps * kPartial * 4, Exchange::kBuffers) : kWarps * kPartial * 4;
  static constexpr int kScratchBytes = 0;

  // Registers that the activations of a whole share may take.
  static constexpr bool kFlagged = IsFlagged<decltype(Args::x)>::value;
  static constexpr int kHoldable = (kNorm ? 96 : 128) - (kGroups - 1) * 8;
  static constexpr int kDirectRows = 2;  // flagged rows that are fetched without a look at one word
  static constexpr bool kHeld = kAllBlocks * kTiles * 4 <= kHoldable;
  static constexpr int kFragments = kHeld ? kAllBlocks : kBlocks;
  using X = SkinnyActivations<Args, kDepth, kChunk, kTiles, kFragments>;
  static constexpr int kChains =
      kTiles == 1 && kGroups == 1 ? 4 : 2;  // independent sums, for latency
  // The norm's weights for this many chunks of held activations are on their way ahead of them: at
  // first before the activations are waited for.
  static constexpr int kNormRoom = (88 - kAllBlocks * kTiles * 4) / (kBlocks * 4);
  static constexpr int kNormAhead = !kNorm || !kHeld || kNormRoom < 2 ? 0
                                    : kNormRoom < kChunks             ? kNormRoom
                                                                      : kChunks;

  static constexpr int kOutputs = kRows / Epilogue::kInputs;
  static constexpr bool kBegins = !kSingle && Epilogue::template kReadsPlain<Args>;
};

}  // namespace etc
