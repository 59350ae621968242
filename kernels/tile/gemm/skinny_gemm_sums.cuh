// What SkinnyGemm does with the sums that its warps leave in shared memory: adds them up in the
// order of the warps, and scales and stores the outputs, by the epilogue warp.
#pragma once

#include "arch/common/math.cuh"
#include "arch/sm90/memory.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/skinny_gemm_shape.cuh"

namespace etc {

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
class SkinnyGemmReduction : SkinnyGemmShape<Config, Args> {
  using Shape = SkinnyGemmShape<Config, Args>;
  using Shape::kBias, Shape::kNorm, Shape::kOutputs, Shape::kPartialStride, Shape::kSums,
      Shape::kTiles;
  using typename Shape::Epilogue;

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
    constexpr int kRun = kOutputs / 4;
    int column = epilogue_warp.lane / 4;
    int row = epilogue_warp.lane % 4 * kRun;
    i64 n = i64(m) * kOutputs + row;
    using Operand = decltype(Epilogue::template Operand<kRun>(args, 0, 0));
    Operand operands[kTiles];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      if (tile * 8 + column < args.x_0) {
        operands[tile] = Epilogue::template Operand<kRun>(args, tile * 8 + column, n);
      }
    }
    float bias[kRun];
    if constexpr (kBias) {
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        bias[i] = ToFloat(args.bias[n + i]);
      }
    }
    u32 partials = epilogue_warp.WaitPartials();
    float sums[kTiles][Epilogue::kInputs][kRun];
    u32 read = 0;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      u32 line = partials + ((tile * 8 + column) * kPartialStride + row) * 4;
#pragma unroll
      for (int input = 0; input < Epilogue::kInputs; ++input) {
        read ^= AddPartials<Shape>(line + input * kOutputs * 4, sums[tile][input]);
      }
      if constexpr (kNorm) {
        if (first_) {
          u32 squares = partials + (kSums + tile * 8 + column) * 4;
          read ^= ReadScale<Shape>(squares, float(Config::eps), scales_[tile]);
        }
      }
    }
    first_ = false;
    epilogue_warp.ReleasePartials(read);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        if constexpr (kNorm) {
#pragma unroll
          for (int input = 0; input < Epilogue::kInputs; ++input) {
            sums[tile][input][i] *= scales_[tile];
          }
        }
        if constexpr (kBias) {
          sums[tile][0][i] += bias[i];
        }
      }
      if (tile * 8 + column < args.x_0) {
        Epilogue::Apply(args, tile * 8 + column, n, sums[tile], operands[tile]);
      }
      if constexpr (Epilogue::kFindsLargest) {
        static_assert(kOutputs == Epilogue::kBlock, "a task has one block of outputs");
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
  float scales_[kNorm ? kTiles : 1];
  bool first_ = true;
};

}  // namespace etc
