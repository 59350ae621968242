// Swap-AB wgmma GEMM for decoding larger batches: y[b, n] = sum over k of x[b, k] * w[n, k], bf16
// with float sums. The weights stream through the ring once and go to the tensor cores from
// registers, 64 rows of them at a time; the activations are the N side, staged in shared memory.
//
// Config: rows (weight rows in a task: a multiple of 16 up to 256), max_batch (the largest x_0, up
// to 128); may have epilogue, weights and bias, as SkinnyGemm has, and first, the output with which
// the tasks begin. With split_k (without epilogue) task (m, p) has of the P = ceil(K / 256) pieces
// of k those from p * P / split_k to those of p + 1, and y is f32 [split_k, b, n].
//
// Of up to 64 rows each of the two warpgroups has all, and every other 128 k; then they exchange
// their sums, and each ends half of the columns. More rows are in one or two blocks of up to 128,
// of which the first warpgroup has 64 and the second the rest.
#pragma once

#include "engine/roles.cuh"
#include "tile/gemm/swap_ab_epilogue.cuh"
#include "tile/gemm/swap_ab_gemm_shape.cuh"
#include "tile/gemm/swap_ab_main_loop.cuh"

namespace etc {

template <class Config, class Args>
class SwapAbGemm {
  using Shape = SwapAbGemmShape<Config, Args>;
  using Epilogue = SwapAbEpilogue<Config, Args>;
  using Weights = typename Shape::Weights;

 public:
  static constexpr int kSlotBytes = Shape::kSlotBytes;
  static constexpr int kScratchBytes = Shape::kScratchBytes;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int m, int p = 0) {
#pragma unroll 1
    for (int chunk = Shape::FirstChunk(p); chunk < Shape::FirstChunk(p + 1); ++chunk) {
#pragma unroll
      for (int block = 0; block < Shape::kBlocks; ++block) {
        int first = Shape::kFirstPair + m * Shape::kPairs + block * Shape::kBlockPairs;
        u32 slot = loader.Acquire();
        int pairs = max(0, min(Shape::PairsOf(block), Shape::kAllPairs - first));
        if (!Shape::kEven && pairs == 0) {
          loader.Sync();
        }
        int columns = Shape::Has(chunk, Shape::kSlotDepth - 1) ? Shape::kSlotDepth : Shape::kTail;
        int bytes = kTileRows * columns * 2;
        loader.Expect(pairs * 2 * bytes);
#pragma unroll
        for (int tile_row = 0; tile_row < 2 * Shape::PairsOf(block); ++tile_row) {
          int pair = first + tile_row / 2;
          if (Shape::kEven || pair < Shape::kAllPairs) {
            const bf16* source = Weights::template Row<16>(args, pair, tile_row % 2 * kTileRows);
            loader.Copy(slot + tile_row * Shape::kTileRowBytes,
                        source + chunk * Shape::kSlotDepth * kTileRows, bytes);
          }
        }
        loader.Advance();
      }
    }
  }

  ETC_DEVICE SwapAbGemm(Consumer& consumer, const Args& args) : loop_(consumer, args) {
    if constexpr (!Shape::kIsSplit) {
      loop_.x.FetchFirst(args);
    }
  }

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int m, int p = 0) {
    float sums[Shape::kBlocks][Shape::kColumns / 2] = {};
    if constexpr (Shape::kIsSplit) {
      loop_.x.BeginSplit(p);
      loop_.x.FetchFirst(args);
    }
    loop_.Multiply(consumer, args, p, sums);
    Epilogue::End(consumer, args, loop_.x, m, p, sums);
  }

 private:
  SwapAbMainLoop<Config, Args> loop_;
};

}  // namespace etc
