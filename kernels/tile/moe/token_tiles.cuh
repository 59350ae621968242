// A projection of more rows of x than a SwapAbGemm takes: y[b, n] = sum over k of x[b, k] * w[n, k]
// in tiles of 128 b.
//
//   task (t, m)        `rows` outputs of the rows of x from t * 128 on: a task of a SwapAbGemm,
//   whose
//                      shape says the rest
//
// Config: rows up to 64, max_batch = 128. Args: x [B, K], w [N, K] in tiles, y f32 [1, B, N].
#pragma once

#include "engine/roles.cuh"
#include "tile/gemm/swap_ab_gemm.cuh"

namespace etc {

template <class Config, class Args>
class TokenTiles {
  static constexpr int kTileTokens = int(Config::max_batch);
  static_assert(int(Config::rows) <= 64, "behind a task no warp reads a stage any more");

  /// A tile, as a SwapAbGemm sees it.
  struct View {
    const bf16* x;
    i64 x_0;
    static constexpr i64 x_1 = Args::x_1;
    const bf16* w;
    static constexpr i64 w_tile_0 = Args::w_tile_0, w_tile_1 = Args::w_tile_1;
    static constexpr bool w_swizzle = SwizzledW<Args>::value;
    float* y;
    static constexpr i64 y_1 = Args::y_2;

    ETC_DEVICE View(const Args& args, int t)
        : x(args.x + i64(t) * kTileTokens * x_1),
          x_0(min(i64(kTileTokens), args.x_0 - t * kTileTokens)),
          w(args.w),
          y(args.y + i64(t) * kTileTokens * y_1) {}
  };
  using Gemm = SwapAbGemm<Config, View>;

 public:
  static constexpr int kSlotBytes = Gemm::kSlotBytes;
  static constexpr int kScratchBytes = Gemm::kScratchBytes;

  static ETC_DEVICE void Load(Loader& loader, const Args& args, int t, int m) {
    Gemm::Load(loader, View(args, t), m);
  }

  ETC_DEVICE TokenTiles(Consumer&, const Args&) {}

  ETC_DEVICE void Run(Consumer& consumer, const Args& args, int t, int m) {
    View view(args, t);
    Gemm gemm(consumer, view);
    gemm.Run(consumer, view, m);
  }
};

}  // namespace etc
