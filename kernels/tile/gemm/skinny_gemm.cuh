// Skinny mma GEMM for decoding: y[b, n] = sum over k of x[b, k] * w[n, k], bf16 with float sums.
// The weights are read once, so they are streamed through the ring and are not kept; the few
// activations are the N side of the tensor core instruction.
//
// Config: rows (8 or 16 weight rows in a task), max_batch (the largest x_0); may have chunk_k (k of
// one ring slot), epilogue ('store, 'only_part, 'residual, 'gated, 'send, 'send_to_owner), gelu (of
// 'gated), weights ('plain, 'qkv), bias (adds args.bias[n]; for 'qkv, args.bq, bk and bv are added
// where there are such), norm and eps (the RMS norm of x with the weight args.norm comes first),
// single.
//
// Each warp owns a slice of k in every chunk; the epilogue warp sums the slices in a fixed order
// and stores the outputs, while the consumers go on with the next task. The weights are row-major
// or in tiles of 8 x 32 (engine/layout.cuh), of which a chunk of 8 rows is one copy. Inside 32
// consecutive k a lane takes 8 neighbours, for both operands alike: a sum may take
// its products in any order, so one 16-byte load gives the operands of two instructions.
//
// A call whose tasks are all that an SM has of it (single) may have tasks of more rows, in groups
// of 8 or 16: each chunk of x then meets all of them, and is read once. There is no next task to go
// on with, so the consumers join their sums and store the outputs themselves.
#pragma once

#include "engine/roles.cuh"
#include "tile/gemm/skinny_epilogue.cuh"
#include "tile/gemm/skinny_gemm_shape.cuh"
#include "tile/gemm/skinny_main_loop.cuh"
#include "tile/pointwise/norm.cuh"

namespace etc {

template <class Config, class Args>
class SkinnyGemm {
  using Shape = SkinnyGemmShape<Config, Args>;
  using MainLoop = SkinnyMainLoop<Config, Args>;
  using Weights = typename Shape::Weights;

 public:
  static constexpr int kSlotBytes = Shape::kSlotBytes;
  static constexpr int kScratchBytes = Shape::kScratchBytes;
  using Reduction = SkinnyGemmReduction<Config, Args>;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int m) {
    const int groups = MainLoop::Groups(m);
#pragma unroll 1
    for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
      int bytes = Shape::kPieceRows * Shape::X::Columns(chunk) * 2;
#pragma unroll 1
      for (int group = 0; group < groups; ++group) {
        const int first = chunk * groups + group;
        u32 slot = loader.Acquire(Shape::kChunks * groups - first, [&](int ahead) {
          const int place = first + ahead;
          ForPieces(args, m, place / groups, place % groups,
                    [](int, const bf16* piece, int size) { BulkPrefetchElected(piece, size); });
        });
        loader.Expect(Shape::kGroupRows / Shape::kPieceRows * bytes);
        ForPieces(args, m, chunk, group, [&](int i, const bf16* piece, int size) {
          loader.Copy(slot + i * Shape::kPieceStride, piece, size);
        });
        loader.Advance();
      }
    }
  }

  template <class Prefetcher>
  static ETC_DEVICE void PrefetchLoads(Prefetcher& prefetcher, const Args& args, int m) {
#pragma unroll 1
    for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
#pragma unroll 1
      for (int group = 0; group < MainLoop::Groups(m); ++group) {
        ForPieces(args, m, chunk, group,
                  [&](int, const bf16* piece, int bytes) { prefetcher.Fetch(piece, bytes); });
      }
    }
  }

  static ETC_DEVICE void Prefetch(const Consumer& consumer, const Args& args, int) {
    // Of flagged activations the constructor waits itself, behind its loads of the norm's weights.
    if constexpr (Shape::kNorm && !(Shape::kNormAhead > 0 && Shape::kFlagged)) {
      PrefetchNorm(consumer, args.norm, Shape::kDepth);
    }
  }

  ETC_DEVICE SkinnyGemm(Consumer& consumer, const Args& args) : loop_(consumer) {
    if constexpr (!Shape::kSingle) {
      loop_.Start(consumer, args);
    }
  }

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int m) {
    if constexpr (Shape::kSingle) {
      MultiplyAndStore(consumer, args, m);
    } else {
      Multiply(consumer, args, m);
    }
    loop_.EndTask();
  }

 private:
  MainLoop loop_;

  /// The pieces of memory that fill a slot: each one's number, place and bytes.
  template <class Use>
  static ETC_DEVICE void ForPieces(const Args& args, int m, int chunk, int group, const Use& use) {
    const int bytes = Shape::kPieceRows * Shape::X::Columns(chunk) * 2;
#pragma unroll
    for (int row = 0; row < Shape::kGroupRows; row += Shape::kPieceRows) {
      const bf16* rows =
          Weights::template Row<Shape::kGroupRows>(args, m * Shape::kGroups + group, row);
      use(row / Shape::kPieceRows, rows + chunk * Shape::kChunk * Shape::kPieceRows, bytes);
    }
  }

  /// A task's sums, into this warp's partial for the epilogue warp.
  ETC_DEVICE void Multiply(Consumer& consumer, const Args& args, int m) {
    typename MainLoop::Sums sums = {};
    loop_.SumTask(consumer, args, m, sums);
    CommitSums<Shape>(consumer, loop_, sums);
  }

  /// The same, and the outputs too.
  ETC_DEVICE void MultiplyAndStore(Consumer& consumer, const Args& args, int m) {
    SkinnySingleEpilogue<Config, Args> epilogue(consumer, args, m);
    // Here, where there is nothing to do but wait. The warps look for the activations together.
    consumer.Sync();
    u32 partials = consumer.BorrowPartials();
    loop_.Start(consumer, args);
    typename MainLoop::Sums sums = {};
    loop_.SumTask(consumer, args, m, sums);
    StoreSums<Shape>(consumer, args, loop_, epilogue, partials, sums);
  }
};

}  // namespace etc
