// The main loop of a SkinnyGemm: the sums of a task's rows over the slices of k that a warp has.
// Weights come from the ring to registers, activations from L2, and mma.sync multiplies them.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/mma.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/skinny_gemm_shape.cuh"

namespace etc {

template <class Config, class Args>
class SkinnyMainLoop {
  using Shape = SkinnyGemmShape<Config, Args>;
  using X = typename Shape::X;
  static constexpr int kTiles = Shape::kTiles, kBlocks = Shape::kBlocks, kChains = Shape::kChains;

 public:
  using Sums = float[Shape::kGroups][kTiles][kChains][4];

  ETC_DEVICE explicit SkinnyMainLoop(const Consumer& consumer) : x_(consumer) {}

  /// Whether this task's activations are not prepared yet.
  ETC_DEVICE bool IsFresh() const { return Shape::kSingle || first_; }
  /// Of a task: the last one may have fewer.
  static ETC_DEVICE int Groups(int m) {
    return Shape::kAllGroups % Shape::kGroups == 0
               ? Shape::kGroups
               : min(Shape::kGroups, Shape::kAllGroups - m * Shape::kGroups);
  }

  ETC_DEVICE void EndTask() { first_ = false; }
  /// The squares of activation row x_.group of a tile, in the lanes with HasSquares.
  ETC_DEVICE float SquaresOf(int tile) const { return squares_[tile]; }
  ETC_DEVICE bool HasSquares() const { return IsFresh() && x_.quad == x_.group / 2; }
  ETC_DEVICE int Group() const { return x_.group; }
  ETC_DEVICE int Quad() const { return x_.quad; }

  /// Waits for the activations, and fetches those that are held.
  ETC_DEVICE void Start(Consumer& consumer, const Args& args) {
    if constexpr (Shape::kNormAhead > 0) {
#pragma unroll
      for (int chunk = 0; chunk < Shape::kNormAhead; ++chunk) {
        x_.LoadNorm(consumer, args, chunk, norm_ + chunk * kBlocks);
      }
    }
    if constexpr (Shape::kBegins) {
      consumer.Begin();
    }
    if constexpr (Shape::kFlagged) {
      consumer.AwaitOthers();
      if (Shape::kHeld && args.x_0 > Shape::kDirectRows) {
        x_.AwaitOne(consumer, args);
      }
    }
    if constexpr (Shape::kHeld && Shape::kFlagged) {
      x_.StartWords(consumer, args, 0, fragments_);
      x_.template Fetch<Shape::kFragments>(consumer, args, 0, fragments_);
    } else if constexpr (Shape::kHeld) {
#pragma unroll
      for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
        x_.LoadChunk(consumer, args, chunk, fragments_ + chunk * kBlocks);
      }
    }
    if constexpr (!Shape::kHeld && Shape::kNorm) {
      SumSquares(consumer, args);
    }
  }

  /// The sums of a task's rows over this warp's slices of k.
  ETC_DEVICE void SumTask(Consumer& consumer, const Args& args, int m, Sums& sums) {
    if constexpr (Shape::kHeld) {
      Squares squares = {};
#pragma unroll
      for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
        MultiplyGroups(consumer, m, chunk, fragments_ + chunk * kBlocks, sums, [&] {
          if (IsFresh()) {
            Prepare(consumer, args, chunk, squares);
          }
        });
      }
      if constexpr (Shape::kNorm) {
        if (IsFresh()) {
          FinishSquares(squares);
        }
      }
    } else {
      // Two chunks are on their way while one is multiplied.
      typename X::NextChunk next[2];
      next[0].Start(x_, consumer, args, 0);
      if constexpr (Shape::kChunks > 1) {
        next[1].Start(x_, consumer, args, 1);
      }
#pragma unroll 1
      for (int pair = 0; pair < Shape::kChunks; pair += 2) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          int chunk = pair + i;
          if (chunk >= Shape::kChunks) {
            break;
          }
          next[i].Finish(x_, consumer, args, fragments_);
          if (chunk + 2 < Shape::kChunks) {
            next[i].Start(x_, consumer, args, chunk + 2);
          }
          if constexpr (Shape::kNorm) {
            Vec4 weights[kBlocks];
            x_.LoadNorm(consumer, args, chunk, weights);
            x_.ApplyNorm(chunk, weights, fragments_);
          }
          MultiplyGroups(consumer, m, chunk, fragments_, sums, [] {});
        }
      }
    }
  }

 protected:
  X x_;
  Vec4 fragments_[Shape::kFragments][kTiles];
  Vec4 norm_[Shape::kNormAhead > 0 ? Shape::kNormAhead* kBlocks : 1];
  float
      squares_[Shape::kNorm ? kTiles : 1];  // of column x_.group, in the lanes of one x_.quad only
  bool first_ = true;

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
    for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
      x_.LoadChunk(consumer, args, chunk, fragments_);
      AddSquares(chunk, fragments_, squares);
    }
    FinishSquares(squares);
  }

  /// Makes a chunk of held activations what the first task, and then all others, multiply.
  ETC_DEVICE void Prepare(const Consumer& consumer, const Args& args, int chunk, Squares& squares) {
    Vec4(*fragments)[kTiles] = fragments_ + chunk * kBlocks;
    if constexpr (Shape::kFlagged) {
      x_.FinishWords(consumer, args, chunk, fragments);
    }
    if constexpr (Shape::kNorm) {
      AddSquares(chunk, fragments, squares);
      if constexpr (Shape::kNormAhead > 0) {
        Vec4* weights = norm_ + chunk % Shape::kNormAhead * kBlocks;
        x_.ApplyNorm(chunk, weights, fragments);
        if (chunk + Shape::kNormAhead < Shape::kChunks) {
          x_.LoadNorm(consumer, args, chunk + Shape::kNormAhead, weights);
        }
      } else {
        Vec4 weights[kBlocks];
        x_.LoadNorm(consumer, args, chunk, weights);
        x_.ApplyNorm(chunk, weights, fragments);
      }
    }
  }

  /// Adds a chunk's products to the sums of all groups of rows; `prepare` makes its activations
  /// ready, behind the first group's weights.
  template <class Body>
  ETC_DEVICE void MultiplyGroups(Consumer& consumer, int m, int chunk,
                                 const Vec4 (*fragments)[kTiles], Sums& sums, Body prepare) {
#pragma unroll
    for (int group = 0; group < Shape::kGroups; ++group) {
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

  /// The weights of a chunk, out of the ring; the result is made of all of them.
  ETC_DEVICE u32 LoadWeights(Consumer& consumer, int chunk, Vec4 (&weights)[kBlocks][2]) const {
    u32 address = consumer.WaitAddress() + consumer.warp * X::Blocks(chunk) * Shape::kBlockStride +
                  (Shape::kTiled ? InTile<Shape::kSwizzled>(consumer.lane * 16)
                                 : x_.group * Shape::kPieceStride + x_.quad * 16);
    u32 read = 0;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        weights[block][half] = {0, 0, 0, 0};
        if (half < Shape::kHalves && block < X::Blocks(chunk)) {
          u32 from = address + half * Shape::kHalfStride + block * Shape::kBlockStride;
          weights[block][half] =
              X::kRagged ? LoadSharedIf(from, X::Has(consumer, chunk, block)) : LoadShared(from);
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
