// GEMM for decoding larger batches: y[b, n] = sum over k of x[b, k] * w[n, k], bf16 with float
// sums. The weights stream through the ring once and go to the tensor cores from registers, 64 rows
// of them at a time; the activations are the N side, staged in shared memory.
//
// Config: rows (weight rows in a task: a multiple of 16 up to 240), max_batch (the largest x_0, up
// to 128); may have epilogue and weights, as SkinnyGemm has, and first, the output with which the
// tasks begin. With parts (without epilogue) task (m, p) has of the K / 256 pieces of k those from
// p * K / 256 / parts to those of p + 1, and y is f32 [parts, b, n].
//
// Of up to 64 rows each of the two warpgroups has all, and every other 128 k; then they exchange
// their sums, and each ends half of the columns. More rows are in one or two blocks of up to 128,
// of which the first warpgroup has 64 and the second the rest.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/mma.cuh"
#include "arch/sm90/registers.cuh"
#include "arch/sm90/wgmma.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/swap_ab_activations.cuh"
#include "tile/gemm/swap_ab_gemm_shape.cuh"

namespace etc {

template <class Config, class Args>
struct SwapAbGemm : SwapAbGemmShape<Config, Args> {
  using Shape = SwapAbGemmShape<Config, Args>;
  using Shape::FirstChunk, Shape::PairsOf, Shape::kAllPairs, Shape::kBlockPairs, Shape::kBlocks,
      Shape::kColumns, Shape::kEndColumns, Shape::kEven, Shape::kFirstPair, Shape::kGated,
      Shape::kGroupThreads, Shape::kIsSplit, Shape::kInputs, Shape::kOutputs, Shape::kPairOutputs,
      Shape::kPairs, Shape::kSlotDepth, Shape::kSplits, Shape::kStageBytes, Shape::kStageSteps,
      Shape::kStages, Shape::kStepTiles, Shape::kSteps, Shape::kTileRowBytes, Shape::kUnit,
      Shape::kUnitBytes;
  using typename Shape::Epilogue, typename Shape::Weights;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int m, int p = 0) {
#pragma unroll 1
    for (int chunk = FirstChunk(p); chunk < FirstChunk(p + 1); ++chunk) {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        int first = kFirstPair + m * kPairs + block * kBlockPairs;
        u32 slot = loader.Acquire();
        int pairs = max(0, min(PairsOf(block), kAllPairs - first));
        if (!kEven && pairs == 0) {
          loader.Sync();
        }
        loader.Expect(pairs * 2 * kTileRowBytes);
#pragma unroll
        for (int tile_row = 0; tile_row < 2 * PairsOf(block); ++tile_row) {
          int pair = first + tile_row / 2;
          if (kEven || pair < kAllPairs) {
            const bf16* source = Weights::template Row<16>(args, pair, tile_row % 2 * kTileRows);
            loader.Copy(slot + tile_row * kTileRowBytes, source + chunk * kSlotDepth * kTileRows,
                        kTileRowBytes);
          }
        }
        loader.Advance();
      }
    }
  }

  ETC_DEVICE SwapAbGemm(Consumer& consumer, const Args& args) : x_(consumer, args) {
    if constexpr (!kIsSplit) {
      x_.FetchFirst(args);
    }
  }

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int m, int p = 0) {
    float sums[kBlocks][kColumns / 2] = {};
    if constexpr (kIsSplit) {
      x_.BeginPart(p);
      x_.FetchFirst(args);
    }
    Multiply(consumer, args, p, sums);
    if constexpr (kSplits) {
      float ends[kEndColumns / 2];
      Exchange(consumer, sums[0], ends);
      consumer.Sync();
      Store(consumer, args, m, p, 0, ends);
    } else {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        Store(consumer, args, m, p, block, sums[block]);
      }
    }
  }

 private:
  SwapAbActivations<Config, Args> x_;

  ETC_DEVICE int FirstEndColumn() const { return kSplits ? x_.group * kEndColumns : 0; }

  /// Where in a block this warp's pair is; a block may have fewer.
  static ETC_DEVICE int PairInBlock(const Consumer& consumer) {
    return Opaque(consumer.warp) % kBlockPairs;
  }
  /// Whether any warp of this warpgroup has a pair of the block.
  ETC_DEVICE bool HasBlock(int block) const {
    return kSplits || PairsOf(block) > 4 || x_.group == 0;
  }

  /// The sums of a task, or of this warpgroup's part of k. While a step is multiplied, the next
  /// one's weights are loaded.
  ETC_DEVICE void Multiply(Consumer& consumer, const Args& args, int p,
                           float (&sums)[kBlocks][kColumns / 2]) {
    u32 weights[2][kStepTiles * 2][4];
    int lane = Opaque(consumer.lane);
    int pair = PairInBlock(consumer);
    u32 slot = consumer.WaitAddress(), stage = 0;
    u32 read = LoadWeights(lane, 0, pair, slot, 0, weights[0]);
    int last = FirstChunk(p + 1);
#pragma unroll 1
    for (int chunk = FirstChunk(p); chunk < last; ++chunk) {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          bool first = block == 0 && step % kStageSteps == 0;  // of a stage
          if (first) {
            if (step > 0) {
              WgmmaWait<0>();
            }
            stage = x_.Next(consumer);
          }
          if (HasBlock(block)) {
            Issue(stage, step % kStageSteps, weights[step % 2], sums[block]);
          }
          if (first) {
            x_.Fetch(args, x_.Before(stage));
          }
          WgmmaWait<1>();
          if (step + 1 < kSteps) {
            read ^= LoadWeights(lane, block, pair, slot, step + 1, weights[(step + 1) % 2]);
            if (step + 2 == kSteps) {
              consumer.Release(read);
            }
          } else if (block + 1 < kBlocks || chunk + 1 < last) {
            slot = consumer.WaitAddress();
            read = LoadWeights(lane, (block + 1) % kBlocks, pair, slot, 0, weights[0]);
          }
        }
      }
      WgmmaWait<0>();
    }
#pragma unroll
    for (int i = 0; i < kBlocks * kColumns / 2; ++i) {
      // Not read any earlier.
      Pin(sums[i / (kColumns / 2)][i % (kColumns / 2)]);
    }
  }

  /// Multiplies a step of a stage.
  static ETC_DEVICE void Issue(u32 stage, int step, u32 (&weights)[kStepTiles * 2][4],
                               float (&sums)[kColumns / 2]) {
#pragma unroll
    for (int i = 0; i < kStepTiles * 8; ++i) {
      Pin(weights[i / 4][i % 4]);  // not made any later
    }
    WgmmaFence();
#pragma unroll
    for (int i = 0; i < kStepTiles * 2; ++i) {
      int k = (step * kStepTiles * 2 + i) * 16;
      u32 columns = stage + k / kUnit * kUnitBytes + k % kUnit * 2;
      Wgmma<kColumns>::Multiply(sums, weights[i], WgmmaDescriptor(columns));
    }
    WgmmaCommit();
  }

  /// This warp's operands of a step, or where it has no pair, another's, so that the tensor cores
  /// have some; gives a word made of all that it read of the slot. The swizzle of a tile puts 8
  /// neighbours in k of its 8 rows into different banks.
  ETC_DEVICE u32 LoadWeights(int lane, int block, int pair, u32 slot, int step,
                             u32 (&weights)[kStepTiles * 2][4]) const {
    if (!HasBlock(block)) {
      return 0;
    }
    u32 address = slot + min(pair, PairsOf(block) - 1) * 2 * kTileRowBytes +
                  (x_.FirstK() + step * kStepTiles * kTileColumns) * kTileRows * 2 +
                  InTile<true>(lane % 8 * 64 + lane / 8 * 16);
    u32 read = 0;
#pragma unroll
    for (int tile = 0; tile < kStepTiles; ++tile) {
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        Vec4 w = LoadMatrices(address + row * kTileRowBytes + tile * kTileRows * 64);
        read ^= w.x;
        weights[2 * tile][row] = w.x;
        weights[2 * tile][row + 2] = w.y;
        weights[2 * tile + 1][row] = w.z;
        weights[2 * tile + 1][row + 2] = w.w;
      }
    }
    return read;
  }

  /// Adds the sums of both warpgroups: each ends half of the columns. By way of the last stage,
  /// which is free, until the caller's next barrier.
  ETC_DEVICE void Exchange(Consumer& consumer, const float (&sums)[kColumns / 2],
                           float (&ends)[kEndColumns / 2]) const {
    constexpr int half = kColumns / 4;  // a thread's sums of half of the columns
    static_assert(half * 4 * kGroupThreads <= kStageBytes, "a stage holds what is exchanged");
    u32 mine = x_.Last() + consumer.thread % kGroupThreads * 16;
    u32 other = mine + (x_.group == 0 ? 1 : -1) * kStages * kStageBytes;
    bool upper = x_.group != 0;
    x_.SyncFetchers(consumer);
#pragma unroll
    for (int i = 0; i < half; i += 4) {
      u32 word[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        word[j] = FloatToBits(upper ? sums[i + j] : sums[half + i + j]);
        ends[i + j] = upper ? sums[half + i + j] : sums[i + j];
      }
      StoreShared(mine + i * 4 * kGroupThreads, Vec4{word[0], word[1], word[2], word[3]});
    }
    consumer.Sync();
#pragma unroll
    for (int i = 0; i < half; i += 4) {
      Vec4 word = LoadShared(other + i * 4 * kGroupThreads);
      ends[i] += BitsToFloat(word.x), ends[i + 1] += BitsToFloat(word.y);
      ends[i + 2] += BitsToFloat(word.z), ends[i + 3] += BitsToFloat(word.w);
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
          i64 n = i64(pair) * kPairOutputs + lane % 4 * 2;
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

  /// The epilogue of this warp's pair of a block, if it has one. Results of 16 bits change places
  /// between lanes, so that a store takes two neighbours, and residuals do before they are added.
  ETC_DEVICE void Store(const Consumer& consumer, const Args& args, int m, int p, int block,
                        const float (&sums)[kEndColumns / 2]) const {
    int in_block = PairInBlock(consumer);
    int pair = kFirstPair + m * kPairs + block * kBlockPairs + in_block;
    if (in_block >= PairsOf(block) || (!kEven && pair >= kAllPairs)) {
      return;
    }
    Residuals residuals;
    residuals.Load(consumer, args, pair, FirstEndColumn());
    using Y = typename ElementOf<decltype(Args::y)>::type;
    int lane = Opaque(consumer.lane);
    int row = lane / 4, quad = lane % 4;
    i64 n = i64(pair) * kPairOutputs;
#pragma unroll
    for (int j = 0; j < kEndColumns / 8; ++j) {
      int first = FirstEndColumn() + j * 8;
      float value[4] = {sums[4 * j], sums[4 * j + 1], sums[4 * j + 2], sums[4 * j + 3]};
      if constexpr (Residuals::kAny) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          u32 added = Transpose8x8(residuals.words[j][half]);
          value[2 * half] += LowBf16(added);
          value[2 * half + 1] += HighBf16(added);
        }
      }
      if constexpr (kGated) {
        value[0] = Silu(value[0]) * value[2];
        value[1] = Silu(value[1]) * value[3];
      }
      if constexpr (sizeof(Y) == 2) {
        int b = first + row;
#pragma unroll
        for (int half = 0; half < 2 / kInputs; ++half) {
          u32 packed = Transpose8x8(PackBf16(value[2 * half], value[2 * half + 1]));
          if (b < args.x_0) {
            Y* to = args.y + i64(b) * kOutputs + n + half * 8 + quad * 2;
            *reinterpret_cast<u32*>(to) = packed;
          }
        }
      } else {
#pragma unroll
        for (int i = 0; i < 4 / kInputs; ++i) {
          i64 b = first + quad * 2 + i % 2;
          if (b < args.x_0) {
            args.y[(p * args.x_0 + b) * kOutputs + n + i / 2 * 8 + row] = value[i];
          }
        }
      }
      if constexpr (Epilogue::kFindsLargest) {
        static_assert(kPairOutputs == Epilogue::kBlock, "a pair has one block of outputs");
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
};

}  // namespace etc
