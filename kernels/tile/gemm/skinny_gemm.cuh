// Skinny GEMM for decoding: y[b, n] = sum over k of x[b, k] * w[n, k], bf16 with float sums. The
// weights are read once, so they are streamed through the ring and never rest; the few activations
// are the N side of the tensor core instruction.
//
// Config: rows (8 or 16 weight rows in a task), max_batch (the largest x_0); may have chunk_k (k of
// one ring slot), epilogue ('store, 'residual, 'silu_mul), weights ('plain, 'qkv), bias (adds
// args.bias[n]), norm and eps (the RMS norm of x with the weight args.norm comes first), single.
//
// Each warp owns a slice of k in every chunk; the epilogue warp sums the slices in a fixed order
// and stores the outputs, while the consumers go on with the next task. The weights are row-major
// or in tiles of 8 x 32 (engine/layout.cuh), of which a chunk of 8 rows is one copy. Inside 32
// consecutive k a lane takes 8 neighbours, for both operands alike: a sum does not mind which k
// stands where, and so one 16-byte load gives the operands of two instructions.
//
// A call whose tasks are all that an SM has of it (single) may have tasks of more rows, in groups
// of 8 or 16: each chunk of x then meets all of them, and is read once. There is no next task to go
// on with, so the consumers join their sums and store the outputs themselves.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/mma.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/skinny_gemm_shape.cuh"
#include "tile/gemm/skinny_gemm_sums.cuh"
#include "tile/pointwise/norm.cuh"

namespace etc {

template <class Config, class Args>
struct SkinnyGemm : SkinnyGemmShape<Config, Args> {
  using Shape = SkinnyGemmShape<Config, Args>;
  using Shape::kAllGroups, Shape::kBegins, Shape::kBias, Shape::kBlockStride, Shape::kBlocks,
      Shape::kChains, Shape::kChunk, Shape::kChunks, Shape::kDepth, Shape::kDirectRows,
      Shape::kFragments, Shape::kGated, Shape::kGroupRows, Shape::kGroups, Shape::kHalfStride,
      Shape::kHalves, Shape::kHeld, Shape::kNorm, Shape::kNormAhead, Shape::kOutputs,
      Shape::kPartial, Shape::kPartialStride, Shape::kPieceRows, Shape::kPieceStride,
      Shape::kSingle, Shape::kStep, Shape::kSums, Shape::kSwizzled, Shape::kFlagged, Shape::kTiled,
      Shape::kTiles;
  using typename Shape::Epilogue, typename Shape::Weights, typename Shape::X;
  using Reduction = SkinnyGemmReduction<Config, Args>;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int m) {
#pragma unroll 1
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      int bytes = kPieceRows * X::Blocks(chunk) * kStep * 2;
#pragma unroll 1
      for (int group = 0; group < Groups(m); ++group) {
        u32 slot = loader.Acquire();
        loader.Expect(kGroupRows / kPieceRows * bytes);
#pragma unroll
        for (int row = 0; row < kGroupRows; row += kPieceRows) {
          const bf16* source = Weights::template Row<kGroupRows>(args, m * kGroups + group, row);
          loader.Copy(slot + row / kPieceRows * kPieceStride, source + chunk * kChunk * kPieceRows,
                      bytes);
        }
        loader.Advance();
      }
    }
  }

  static ETC_DEVICE void Prefetch(const Consumer& consumer, const Args& args, int) {
    // Of flagged activations the constructor waits itself, behind its loads of the norm's weights.
    if constexpr (kNorm && !(kNormAhead > 0 && kFlagged)) {
      PrefetchNorm(consumer, args.norm, kDepth);
    }
  }

  ETC_DEVICE SkinnyGemm(Consumer& consumer, const Args& args) : x_(consumer) {
    if constexpr (!kSingle) {
      Start(consumer, args);
    }
  }

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int m) {
    if constexpr (kSingle) {
      MultiplyAndStore(consumer, args, m);
    } else {
      Multiply(consumer, args, m);
    }
    first_ = false;
  }

 private:
  X x_;
  Vec4 fragments_[kFragments][kTiles];
  Vec4 norm_[kNormAhead > 0 ? kNormAhead* kBlocks : 1];
  float squares_[kNorm ? kTiles : 1];  // of column x_.group, in the lanes of one x_.quad only
  bool first_ = true;

  /// Whether this task's activations are not prepared yet.
  ETC_DEVICE bool IsFresh() const { return kSingle || first_; }
  /// Of a task: the last one may have fewer.
  static ETC_DEVICE int Groups(int m) {
    return kAllGroups % kGroups == 0 ? kGroups : min(kGroups, kAllGroups - m * kGroups);
  }
  using Squares = float[kTiles][kChains][4];
  /// Adds this warp's squares of a chunk. They are the diagonal of x times itself, which is cheaper
  /// than to unpack x.
  static ETC_DEVICE void AddSquares(int chunk, const Vec4 (*fragments)[kTiles], Squares& squares) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        if (block < X::Blocks(chunk)) {
          const Vec4& x = fragments[block][tile];
          float(*chains)[4] = squares[tile] + block % (kChains / 2) * 2;
          MmaBf16(chains[0], x.x, 0, x.y, 0, x.x, x.y);
          MmaBf16(chains[1], x.z, 0, x.w, 0, x.z, x.w);
        }
      }
    }
  }
  ETC_DEVICE void FinishSquares(const Squares& squares) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      squares_[tile] = 0;
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) {
        squares_[tile] += x_.group % 2 ? squares[tile][chain][1] : squares[tile][chain][0];
      }
    }
  }
  /// The squares of activations that are not held.
  ETC_DEVICE void SumSquares(const Consumer& consumer, const Args& args) {
    Squares squares = {};
#pragma unroll 1
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      x_.LoadChunk(consumer, args, chunk, fragments_);
      AddSquares(chunk, fragments_, squares);
    }
    FinishSquares(squares);
  }

  /// Waits for the activations, and fetches those that are held.
  ETC_DEVICE void Start(Consumer& consumer, const Args& args) {
    if constexpr (kNormAhead > 0) {
#pragma unroll
      for (int chunk = 0; chunk < kNormAhead; ++chunk) {
        x_.LoadNorm(consumer, args, chunk, norm_ + chunk * kBlocks);
      }
    }
    if constexpr (kBegins) {
      consumer.Begin();
    }
    if constexpr (kFlagged) {
      consumer.AwaitOthers();
      if (kHeld && args.x_0 > kDirectRows) {
        x_.AwaitOne(consumer, args);
      }
    }
    if constexpr (kHeld && kFlagged) {
      x_.StartWords(args, fragments_);
      x_.template Fetch<kFragments>(consumer, args, 0, fragments_);
    } else if constexpr (kHeld) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        x_.LoadChunk(consumer, args, chunk, fragments_ + chunk * kBlocks);
      }
    }
    if constexpr (!kHeld && kNorm) {
      SumSquares(consumer, args);
    }
  }

  /// Makes a chunk of held activations what the first task, and then all others, multiply.
  ETC_DEVICE void Prepare(const Consumer& consumer, const Args& args, int chunk, Squares& squares) {
    Vec4(*fragments)[kTiles] = fragments_ + chunk * kBlocks;
    if constexpr (kFlagged) {
      x_.FinishWords(consumer, args, chunk, fragments);
    }
    if constexpr (kNorm) {
      AddSquares(chunk, fragments, squares);
      if constexpr (kNormAhead > 0) {
        Vec4* weights = norm_ + chunk % kNormAhead * kBlocks;
        x_.ApplyNorm(chunk, weights, fragments);
        if (chunk + kNormAhead < kChunks) {
          x_.LoadNorm(consumer, args, chunk + kNormAhead, weights);
        }
      } else {
        Vec4 weights[kBlocks];
        x_.LoadNorm(consumer, args, chunk, weights);
        x_.ApplyNorm(chunk, weights, fragments);
      }
    }
  }

  using Sums = float[kGroups][kTiles][kChains][4];

  /// Adds a chunk's products to the sums of all groups of rows; `prepare` makes its activations
  /// ready, behind the first group's weights.
  template <class Body>
  ETC_DEVICE void MultiplyGroups(Consumer& consumer, int m, int chunk,
                                 const Vec4 (*fragments)[kTiles], Sums& sums, Body prepare) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      if (group >= Groups(m)) {
        break;
      }
      Vec4 weights[kBlocks][2];
      u32 read = LoadWeights(consumer, chunk, weights);
      if (group == 0) {
        prepare();
      }
      MultiplyChunk(chunk, weights, fragments, sums[group]);
      consumer.Release(read);
    }
  }

  /// The sums of a task's rows over this warp's slices of k.
  ETC_DEVICE void SumTask(Consumer& consumer, const Args& args, int m, Sums& sums) {
    if constexpr (kHeld) {
      Squares squares = {};
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        MultiplyGroups(consumer, m, chunk, fragments_ + chunk * kBlocks, sums, [&] {
          if (IsFresh()) {
            Prepare(consumer, args, chunk, squares);
          }
        });
      }
      if constexpr (kNorm) {
        if (IsFresh()) {
          FinishSquares(squares);
        }
      }
    } else {
      // Two chunks are on their way while one is multiplied.
      typename X::NextChunk next[2];
      next[0].Start(x_, consumer, args, 0);
      if constexpr (kChunks > 1) {
        next[1].Start(x_, consumer, args, 1);
      }
#pragma unroll 1
      for (int pair = 0; pair < kChunks; pair += 2) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          int chunk = pair + i;
          if (chunk >= kChunks) {
            break;
          }
          next[i].Finish(x_, consumer, args, fragments_);
          if (chunk + 2 < kChunks) {
            next[i].Start(x_, consumer, args, chunk + 2);
          }
          if constexpr (kNorm) {
            Vec4 weights[kBlocks];
            x_.LoadNorm(consumer, args, chunk, weights);
            x_.ApplyNorm(chunk, weights, fragments_);
          }
          MultiplyGroups(consumer, m, chunk, fragments_, sums, [] {});
        }
      }
    }
  }

  /// Adds up the chains, and leaves this warp's sums, and squares, at the shared address `partial`.
  ETC_DEVICE void StorePartial(u32 partial, const Sums& sums) const {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      u32 line = partial + ((tile * 8 + x_.quad * 2) * kPartialStride + x_.group) * 4;
#pragma unroll
      for (int half = 0; half < kGroups * kHalves; ++half) {
        float even = 0, odd = 0;
#pragma unroll
        for (int chain = 0; chain < kChains; ++chain) {
          even += sums[half / kHalves][tile][chain][half % kHalves * 2];
          odd += sums[half / kHalves][tile][chain][half % kHalves * 2 + 1];
        }
        StoreShared(line + half * 32, even);
        StoreShared(line + half * 32 + kPartialStride * 4, odd);
      }
      if constexpr (kNorm) {
        if (IsFresh() && x_.quad == x_.group / 2) {
          StoreShared(partial + (kSums + tile * 8 + x_.group) * 4, squares_[tile]);
        }
      }
    }
  }

  /// A task's sums, into this warp's partial for the epilogue warp.
  ETC_DEVICE void Multiply(Consumer& consumer, const Args& args, int m) {
    Sums sums = {};
    SumTask(consumer, args, m, sums);
    StorePartial(consumer.AcquirePartials() + consumer.warp * kPartial * 4, sums);
    consumer.CommitPartials();
  }

  /// The same, and the outputs too: two neighbours by each thread.
  ETC_DEVICE void MultiplyAndStore(Consumer& consumer, const Args& args, int m) {
    static_assert(kTiles == 1 || !kSingle, "`single` is for at most 8 rows of x");
    static_assert(kOutputs <= 64 || !kSingle, "each thread has two outputs");
    constexpr int kPairs = kOutputs / 2;
    int b = consumer.thread / kPairs;
    int pair = consumer.thread % kPairs;
    i64 n = i64(m) * kOutputs + pair * 2;
    bool mine = b < args.x_0 && n < Args::y_1;
    // By all threads, as behind a branch it would be waited for at once; and before the wait for
    // the activations, so that no load of theirs is waited for with it.
    auto operand = Epilogue::template Operand<2>(args, mine ? b : 0, mine ? n : 0);
    float bias[2] = {};
    if constexpr (kBias) {
      bias[0] = ToFloat(args.bias[mine ? n : 0]);
      bias[1] = ToFloat(args.bias[mine ? n + 1 : 0]);
    }
    // Here, where there is nothing to do but wait. The warps look for the activations together.
    consumer.Sync();
    u32 partials = consumer.BorrowPartials();
    Start(consumer, args);
    Sums sums = {};
    SumTask(consumer, args, m, sums);
    StorePartial(partials + consumer.warp * kPartial * 4, sums);
    consumer.Sync();
    float outputs[Epilogue::kInputs][2];
    if (mine) {
      int row = kGated ? pair / 4 * 16 + pair % 4 * 2 : pair * 2;
#pragma unroll
      for (int input = 0; input < Epilogue::kInputs; ++input) {
        AddPartials<Shape>(partials + (b * kPartialStride + row + input * 8) * 4, outputs[input]);
      }
      if constexpr (kNorm) {
        float scale;
        ReadScale<Shape>(partials + (kSums + b) * 4, float(Config::eps), scale);
#pragma unroll
        for (int input = 0; input < Epilogue::kInputs; ++input) {
          outputs[input][0] *= scale;
          outputs[input][1] *= scale;
        }
      }
      if constexpr (kBias) {
        outputs[0][0] += bias[0];
        outputs[0][1] += bias[1];
      }
      Epilogue::Apply(args, b, n, outputs, operand);
    }
    consumer.Sync();  // the partials are read
    consumer.Stored();
  }

  /// The weights of a chunk, out of the ring; the result is made of all of them.
  ETC_DEVICE u32 LoadWeights(Consumer& consumer, int chunk, Vec4 (&weights)[kBlocks][2]) const {
    u32 address =
        consumer.WaitAddress() + consumer.warp * X::Blocks(chunk) * kBlockStride +
        (kTiled ? InTile<kSwizzled>(consumer.lane * 16) : x_.group * kPieceStride + x_.quad * 16);
    u32 read = 0;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        weights[block][half] = {0, 0, 0, 0};
        if (half < kHalves && block < X::Blocks(chunk)) {
          weights[block][half] = LoadShared(address + half * kHalfStride + block * kBlockStride);
          read ^= weights[block][half].x;
        }
      }
    }
    return read;
  }

  static ETC_DEVICE void MultiplyChunk(int chunk, const Vec4 (&weights)[kBlocks][2],
                                       const Vec4 (*fragments)[kTiles],
                                       float (&sums)[kTiles][kChains][4]) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      if (block < X::Blocks(chunk)) {
        const Vec4& low = weights[block][0];
        const Vec4& high = weights[block][1];
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          const Vec4& x = fragments[block][tile];
          constexpr int pairs = kChains / 2;
          float(*chains)[4] = sums[tile] + block % pairs * 2;
          MmaBf16(chains[0], low.x, high.x, low.y, high.y, x.x, x.y);
          MmaBf16(chains[1], low.z, high.z, low.w, high.w, x.z, x.w);
        }
      }
    }
  }
};

}  // namespace etc
