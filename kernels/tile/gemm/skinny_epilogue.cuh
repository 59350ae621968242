// The epilogue of a SkinnyGemm: each warp leaves its partials in shared memory. The epilogue warp,
// or of a call with `single` the consumers, add them up in the order of the warps, scale and store.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/skinny_gemm_shape.cuh"
#include "tile/gemm/skinny_main_loop.cuh"

namespace etc {

/// Adds up the chains, and leaves this warp's sums, and squares, at the shared address `partial`.
template <class Shape, class MainLoop>
ETC_DEVICE void StorePartial(const MainLoop& loop, u32 partial,
                             const typename MainLoop::Sums& sums) {
#pragma unroll
  for (int tile = 0; tile < Shape::kTiles; ++tile) {
    u32 line = partial + ((tile * 8 + loop.Quad() * 2) * Shape::kPartialStride + loop.Group()) * 4;
#pragma unroll
    for (int half = 0; half < Shape::kGroups * Shape::kHalves; ++half) {
      float even = 0, odd = 0;
#pragma unroll
      for (int chain = 0; chain < Shape::kChains; ++chain) {
        even += sums[half / Shape::kHalves][tile][chain][half % Shape::kHalves * 2];
        odd += sums[half / Shape::kHalves][tile][chain][half % Shape::kHalves * 2 + 1];
      }
      StoreShared(line + half * 32, even);
      StoreShared(line + half * 32 + Shape::kPartialStride * 4, odd);
    }
    if constexpr (Shape::kNorm) {
      if (loop.HasSquares()) {
        StoreShared(partial + (Shape::kSums + tile * 8 + loop.Group()) * 4, loop.SquaresOf(tile));
      }
    }
  }
}

/// Leaves a task's sums to the epilogue warp.
template <class Shape, class MainLoop>
ETC_DEVICE void CommitSums(Consumer& consumer, const MainLoop& loop,
                           const typename MainLoop::Sums& sums) {
  u32 partials = consumer.AcquirePartials();
  StorePartial<Shape>(loop, partials + consumer.warp * Shape::kPartial * 4, sums);
  consumer.CommitPartials();
}

/// Joins a task's sums by way of the borrowed `partials`, and stores the outputs.
template <class Shape, class Epilogue, class MainLoop, class Args>
ETC_DEVICE void StoreSums(Consumer& consumer, const Args& args, const MainLoop& loop,
                          Epilogue& epilogue, u32 partials, const typename MainLoop::Sums& sums) {
  StorePartial<Shape>(loop, partials + consumer.warp * Shape::kPartial * 4, sums);
  consumer.Sync();
  epilogue.Store(args, partials);
  consumer.Sync();  // the partials are read
  consumer.Stored();
}

/// The sums over the warps, in their order, of the floats from the shared address on where the
/// first warp left them. The result is made of all that was read.
template <class Shape, int kRun>
ETC_DEVICE u32 AddPartials(u32 address, float (&sums)[kRun]) {
  float partials[Shape::kWarps][kRun];
#pragma unroll
  for (int warp = 0; warp < Shape::kWarps; ++warp) {
    LoadShared(address + warp * Shape::kPartial * 4, partials[warp]);
  }
  u32 read = 0;
#pragma unroll
  for (int i = 0; i < kRun; ++i) {
    sums[i] = 0;
#pragma unroll
    for (int warp = 0; warp < Shape::kWarps; ++warp) {
      sums[i] += partials[warp][i];
    }
    read ^= FloatToBits(sums[i]);
  }
  return read;
}

/// The scale of the RMS norm, of the squares that the warps left at the address; the result is made
/// of all that was read.
template <class Shape>
ETC_DEVICE u32 ReadScale(u32 address, float eps, float& scale) {
  float squares[1];
  u32 read = AddPartials<Shape>(address, squares);
  scale = ReciprocalSqrt(squares[0] * (1.0f / Shape::kDepth) + eps);
  return read;
}

/// The epilogue warp's side of a share.
template <class Config, class Args>
class SkinnyGemmReduction {
  using Shape = SkinnyGemmShape<Config, Args>;
  using Epilogue = typename Shape::Epilogue;

 public:
  using Exists = void;
  static constexpr bool kExists = !Shape::kSingle;
  static constexpr int kPartialsBytes = Shape::kPartialsBytes;

  ETC_DEVICE SkinnyGemmReduction(EpilogueWarp& epilogue_warp, const Args&) {
    if constexpr (Shape::kBegins) {
      epilogue_warp.WaitBegin();
    }
  }

  /// A lane has neighbouring outputs of one b.
  ETC_DEVICE void Run(EpilogueWarp& epilogue_warp, const Args& args, int m) {
    constexpr int kRun = Shape::kOutputs / 4;
    int column = epilogue_warp.lane / 4;
    int row = epilogue_warp.lane % 4 * kRun;
    i64 n = i64(m) * Shape::kOutputs + row;
    using Operand = decltype(Epilogue::template Operand<kRun>(args, 0, 0));
    Operand operands[Shape::kTiles];
#pragma unroll
    for (int tile = 0; tile < Shape::kTiles; ++tile) {
      if (tile * 8 + column < args.x_0) {
        operands[tile] = Epilogue::template Operand<kRun>(args, tile * 8 + column, n);
      }
    }
    float bias[kRun];
    if constexpr (Shape::kBias) {
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        bias[i] = ToFloat(Shape::Weights::Bias(args, n)[i]);
      }
    }
    u32 partials = epilogue_warp.WaitPartials();
    float sums[Shape::kTiles][Epilogue::kInputs][kRun];
    u32 read = 0;
#pragma unroll
    for (int tile = 0; tile < Shape::kTiles; ++tile) {
      u32 line = partials + ((tile * 8 + column) * Shape::kPartialStride + row) * 4;
#pragma unroll
      for (int input = 0; input < Epilogue::kInputs; ++input) {
        read ^= AddPartials<Shape>(line + input * Shape::kOutputs * 4, sums[tile][input]);
      }
      if constexpr (Shape::kNorm) {
        if (first_) {
          u32 squares = partials + (Shape::kSums + tile * 8 + column) * 4;
          read ^= ReadScale<Shape>(squares, float(Config::eps), scales_[tile]);
        }
      }
    }
    first_ = false;
    epilogue_warp.ReleasePartials(read);
#pragma unroll
    for (int tile = 0; tile < Shape::kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        if constexpr (Shape::kNorm) {
#pragma unroll
          for (int input = 0; input < Epilogue::kInputs; ++input) {
            sums[tile][input][i] *= scales_[tile];
          }
        }
        if constexpr (Shape::kBias) {
          sums[tile][0][i] += bias[i];
        }
      }
      if (tile * 8 + column < args.x_0) {
        Epilogue::Apply(args, tile * 8 + column, n, sums[tile], operands[tile]);
      }
      if constexpr (Epilogue::kFindsLargest) {
        static_assert(Shape::kOutputs == Epilogue::kBlock, "a task has one block of outputs");
        float largest = sums[tile][0][0];
#pragma unroll
        for (int i = 1; i < kRun; ++i) {
          largest = fmaxf(largest, sums[tile][0][i]);
        }
        largest = LaneMax<1, 4>(largest);
        if (row == 0 && tile * 8 + column < args.x_0) {
          args.largest[i64(m) * args.x_0 + tile * 8 + column] = largest;
        }
      }
    }
  }

 private:
  float scales_[Shape::kNorm ? Shape::kTiles : 1];
  bool first_ = true;
};

/// The epilogue by the consumers, of a call with `single`: two neighbouring outputs for each
/// thread.
template <class Config, class Args>
class SkinnySingleEpilogue {
  using Shape = SkinnyGemmShape<Config, Args>;
  using Epilogue = typename Shape::Epilogue;
  static_assert(Shape::kTiles * Shape::kOutputs <= 64 || !Shape::kSingle,
                "each thread has two outputs");
  static constexpr int kPairs = Shape::kOutputs / 2;

 public:
  /// Reads what the epilogue adds. By all threads, as behind a branch it would be waited for at
  /// once; and before the wait for the activations, so that no load of theirs is waited for with
  /// it.
  ETC_DEVICE SkinnySingleEpilogue(const Consumer& consumer, const Args& args, int m)
      : b_(consumer.thread / kPairs),
        pair_(consumer.thread % kPairs),
        n_(i64(m) * Shape::kOutputs + pair_ * 2),
        mine_(b_ < args.x_0 && n_ < Epilogue::template kColumns<Args>),
        operand_(Epilogue::template Operand<2>(args, mine_ ? b_ : 0, mine_ ? n_ : 0)) {
    if constexpr (Shape::kBias) {
      const bf16* bias = Shape::Weights::Bias(args, mine_ ? n_ : 0);
      bias_[0] = ToFloat(bias[0]);
      bias_[1] = ToFloat(bias[1]);
    }
  }

  ETC_DEVICE void Store(const Args& args, u32 partials) const {
    float outputs[Epilogue::kInputs][2];
    if (mine_) {
      int row = Shape::kGated ? pair_ / 4 * 16 + pair_ % 4 * 2 : pair_ * 2;
#pragma unroll
      for (int input = 0; input < Epilogue::kInputs; ++input) {
        AddPartials<Shape>(partials + (b_ * Shape::kPartialStride + row + input * 8) * 4,
                           outputs[input]);
      }
      if constexpr (Shape::kNorm) {
        float scale;
        ReadScale<Shape>(partials + (Shape::kSums + b_) * 4, float(Config::eps), scale);
#pragma unroll
        for (int input = 0; input < Epilogue::kInputs; ++input) {
          outputs[input][0] *= scale;
          outputs[input][1] *= scale;
        }
      }
      if constexpr (Shape::kBias) {
        outputs[0][0] += bias_[0];
        outputs[0][1] += bias_[1];
      }
      Epilogue::Apply(args, b_, n_, outputs, operand_);
    }
  }

 private:
  int b_, pair_;
  i64 n_;
  bool mine_;
  decltype(Epilogue::template Operand<2>(*static_cast<const Args*>(nullptr), 0, 0)) operand_;
  float bias_[2] = {};
};

}  // namespace etc
