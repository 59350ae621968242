// The main loop of a SwapAbGemm: the sums of a task, or of a warpgroup's part of k. Weights go from
// the ring through registers to wgmma as its A, staged activations are its B.
#pragma once

#include "arch/sm90/memory.cuh"
#include "arch/sm90/registers.cuh"
#include "arch/sm90/wgmma.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/swap_ab_activations.cuh"
#include "tile/gemm/swap_ab_gemm_shape.cuh"

namespace etc {

template <class Config, class Args>
class SwapAbMainLoop {
  using Shape = SwapAbGemmShape<Config, Args>;

 public:
  SwapAbActivations<Config, Args> x;

  ETC_DEVICE SwapAbMainLoop(const Consumer& consumer, const Args& args) : x(consumer, args) {}

  /// The sums of a task's first columns, or of this warpgroup's part of k. While a step is
  /// multiplied, the next one's weights are loaded.
  template <int kSums>
  ETC_DEVICE void Multiply(Consumer& consumer, const Args& args, int p,
                           float (&sums)[Shape::kBlocks][kSums]) {
    u32 weights[2][Shape::kStepTiles * 2][4];
    int lane = Opaque(consumer.lane);
    int pair = Shape::PairInBlock(consumer);
    u32 slot = consumer.WaitAddress(), stage = 0;
    u32 read = LoadWeights(lane, Shape::FirstChunk(p), 0, pair, slot, 0, weights[0]);
    int last = Shape::FirstChunk(p + 1);
#pragma unroll 1
    for (int chunk = Shape::FirstChunk(p); chunk < last; ++chunk) {
#pragma unroll
      for (int block = 0; block < Shape::kBlocks; ++block) {
#pragma unroll
        for (int step = 0; step < Shape::kSteps; ++step) {
          bool first = block == 0 && step % Shape::kStageSteps == 0;  // of a stage
          if (first) {
            if (step > 0) {
              WgmmaWait<0>();
            }
            stage = x.Next(consumer);
          }
          if (HasBlock(block)) {
            Issue(stage, step % Shape::kStageSteps, weights[step % 2], sums[block]);
          }
          if (first) {
            x.Fetch(args, x.Before(stage));
          }
          WgmmaWait<1>();
          if (step + 1 < Shape::kSteps) {
            read ^= LoadWeights(lane, chunk, block, pair, slot, step + 1, weights[(step + 1) % 2]);
            if (step + 2 == Shape::kSteps) {
              consumer.Release(read);
            }
          } else if (block + 1 < Shape::kBlocks || chunk + 1 < last) {
            slot = consumer.WaitAddress();
            int next = block + 1 < Shape::kBlocks ? chunk : chunk + 1;
            read = LoadWeights(lane, next, (block + 1) % Shape::kBlocks, pair, slot, 0, weights[0]);
          }
        }
      }
      WgmmaWait<0>();
    }
#pragma unroll
    for (int i = 0; i < Shape::kBlocks * kSums; ++i) {
      // Not read any earlier.
      Pin(sums[i / kSums][i % kSums]);
    }
  }

 private:
  /// Whether any warp of this warpgroup has a pair of the block.
  ETC_DEVICE bool HasBlock(int block) const {
    return Shape::kSplits || Shape::PairsOf(block) > 4 || x.group == 0;
  }

  /// Multiplies a step of a stage.
  template <int kSums>
  static ETC_DEVICE void Issue(u32 stage, int step, u32 (&weights)[Shape::kStepTiles * 2][4],
                               float (&sums)[kSums]) {
#pragma unroll
    for (int i = 0; i < Shape::kStepTiles * 8; ++i) {
      Pin(weights[i / 4][i % 4]);  // not made any later
    }
    WgmmaFence();
#pragma unroll
    for (int i = 0; i < Shape::kStepTiles * 2; ++i) {
      int k = (step * Shape::kStepTiles * 2 + i) * 16;
      u32 columns = stage + k / Shape::kUnit * Shape::kUnitBytes + k % Shape::kUnit * 2;
      Wgmma<2 * kSums>::Multiply(sums, weights[i], WgmmaDescriptor(columns));
    }
    WgmmaCommit();
  }

  /// This warp's operands of a step, or where it has no pair, another's, so that the tensor cores
  /// have some; gives a word made of all that it read of the slot. Behind the end of k it reads the
  /// rows' first tiles: the activations are zeros there, and what lies in the slot may be no
  /// number. The swizzle of a tile puts 8 neighbours in k of its 8 rows into different banks.
  ETC_DEVICE u32 LoadWeights(int lane, int chunk, int block, int pair, u32 slot, int step,
                             u32 (&weights)[Shape::kStepTiles * 2][4]) const {
    if (!HasBlock(block)) {
      return 0;
    }
    int k = x.FirstK() + step * Shape::kStepTiles * kTileColumns;
    u32 address = slot + min(pair, Shape::PairsOf(block) - 1) * 2 * Shape::kTileRowBytes +
                  k * kTileRows * 2 + InTile<true>(lane % 8 * 64 + lane / 8 * 16);
    u32 read = 0;
#pragma unroll
    for (int tile = 0; tile < Shape::kStepTiles; ++tile) {
      int back = Shape::Has(chunk, k + tile * kTileColumns) ? 0 : k + tile * kTileColumns;
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        Vec4 w = LoadMatrices(address + row * Shape::kTileRowBytes + tile * kTileRows * 64 -
                              back * kTileRows * 2);
        read ^= w.x;
        weights[2 * tile][row] = w.x;
        weights[2 * tile][row + 2] = w.y;
        weights[2 * tile + 1][row] = w.z;
        weights[2 * tile + 1][row + 2] = w.w;
      }
    }
    return read;
  }
};

}  // namespace etc
