// GEMMs for decoding 65 to 128 sequences, which fill a tile of the tensor cores: y[b, n] = sum over
// k of x[b, k] * w[n, k], bf16 with float sums. The sequences are the M side and the weights the N
// side, so a task may have any number of weight rows, and no others are multiplied.
//
//   BatchTileGemm      task m: all sequences by `rows` weight rows, or half as many of gate and up
//   BatchTileSplitK    task (m, p): of the P = ceil(K / 256) pieces of k those from p * P / split_k
//                      to those of p + 1; y is f32 [split_k, b, n]
//   box of weights     [rows, 64] in tiles, or [rows / 2, 64] of gate and of up: a ring slot; read
//                      once, so it leaves L2 first
//   x                  row-major boxes in stages of the consumers (batch_tile_activations.cuh)
//   MMA                wgmma m64nNk16, N = rows; each of two warpgroups has up to 64 sequences, a
//                      thread rows / 2 sums
//
// The warpgroups wait for nothing of each other but slots, and drift apart until one multiplies
// while the other stores.
//
// Config: rows, a multiple of 8 (gated of 16) from 64 to 256, and max_batch, the largest x_0, up to
// 128; may have epilogue, weights and bias, as SwapAbGemm has. The weights are in swizzled tiles of
// 8 x 32, K is a multiple of 32.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/batch_tile_activations.cuh"
#include "tile/gemm/batch_tile_epilogue.cuh"
#include "tile/gemm/batch_tile_weights.cuh"
#include "tile/gemm/tile_boxes.cuh"

namespace etc {

/// Both of them, in steps of 64 k. Where it `goes_on`, all tasks have the same steps.
template <class Config, class Args, bool goes_on>
class BatchTile {
  using Epilogue = BatchTileEpilogue<Config, Args>;
  using Tensors = typename Epilogue::Tensors;
  static_assert(Tensors::template kTiled<Args> && Tensors::template kSwizzled<Args>,
                "the weights are in swizzled tiles of 8 x 32");
  static constexpr int kRows = Epilogue::kRows;
  using Weights = BatchTileWeights<Tensors, Args, kRows>;
  static_assert(Args::x_1 % kTileColumns == 0, "k is a multiple of 32");
  static_assert(Config::max_batch <= 2 * BatchTileActivations<Args, goes_on>::kGroupSequences,
                "`max_batch` is at most 128");
  static_assert(Consumer::kWarps == 8, "the consumers are two warpgroups");

 protected:
  using X = BatchTileActivations<Args, goes_on>;

 public:
  /// The loader fetches nothing.
  using LoadAwaitsItself = void;
  static constexpr int kSlotBytes = kRows * X::kRowBytes;
  static constexpr int kScratchBytes = X::kScratchBytes + Epilogue::kScratchBytes;

  ETC_DEVICE BatchTile(Consumer& consumer, const Args& args) : x_(consumer, args) {}

 protected:
  X x_;

  static ETC_DEVICE void LoadSteps(Loader& loader, const Args& args, int m, int first, int end) {
#pragma unroll 1
    for (int step = first; step < end; ++step) {
      u32 slot = loader.Acquire();
      loader.Expect(kSlotBytes);
      Weights::Copy(args, slot, m, step * X::kStep, loader.ring.Full(), loader.policy);
      loader.Advance();
    }
  }

  /// Of the steps whose activations are fetched.
  ETC_DEVICE void RunSteps(Consumer& consumer, const Args& args, int m, int p, int steps) {
    // Zeros, or the compiler would keep the task before's.
    float sums[kRows / 2] = {};
    MultiplyTileBoxes<kRows>(consumer, steps, x_, sums, [&] { x_.Advance(consumer, args); });
    u32 scratch = SharedAddress(consumer.scratch) + X::kScratchBytes;
    int first = x_.group * X::kGroupSequences + consumer.warp % 4 * 16;
    Epilogue::Store(consumer, scratch, args, m, p, first, sums);
  }
};

template <class Config, class Args>
struct BatchTileGemm : BatchTile<Config, Args, true> {
  using Tile = BatchTile<Config, Args, true>;
  using typename Tile::X;

  ETC_DEVICE BatchTileGemm(Consumer& consumer, const Args& args) : Tile(consumer, args) {
    Tile::x_.Begin(consumer, args, 0, X::kSteps);
  }

  template <class... Await>
  static ETC_DEVICE void Load(Loader& loader, const Args& args, int m, const Await&...) {
    Tile::LoadSteps(loader, args, m, 0, X::kSteps);
  }
  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int m) {
    Tile::RunSteps(consumer, args, m, 0, X::kSteps);
  }
};

template <class Config, class Args>
struct BatchTileSplitK : BatchTile<Config, Args, false> {
  using Tile = BatchTile<Config, Args, false>;
  using Tile::Tile;
  using typename Tile::X;

  template <class... Await>
  static ETC_DEVICE void Load(Loader& loader, const Args& args, int m, int p, const Await&...) {
    Tile::LoadSteps(loader, args, m, FirstStep(p), FirstStep(p + 1));
  }
  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int m, int p) {
    int first = FirstStep(p), end = FirstStep(p + 1);
    Tile::x_.Begin(consumer, args, first, end);
    Tile::RunSteps(consumer, args, m, p, end - first);
  }

 private:
  static constexpr int kSplitK = int(Config::split_k);
  static constexpr int kPieceSteps = 256 / X::kStep;
  static constexpr int kPieces = DivideUp(X::kSteps, kPieceSteps);
  static_assert(kSplitK >= 1 && kSplitK <= kPieces, "a split has 256 k, or the last ones");

  static ETC_DEVICE int FirstStep(int p) {
    return min(p * kPieces / kSplitK * kPieceSteps, X::kSteps);
  }
};

}  // namespace etc
