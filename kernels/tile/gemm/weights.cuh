// The weights of a GEMM: one tensor, or two or three whose rows make one matrix.
#pragma once

#include "arch/common/types.cuh"
#include "engine/layout.cuh"

namespace etc {

// Weights: where row `row` of the `rows` rows of task m starts. Where kTiled, it is a multiple of
// 8, and 8 rows start there, in tiles that may be swizzled. Bias: where the biases of output n and
// of its neighbours in a task start.

ETC_TILED(TiledW, w);
ETC_TILED(TiledWq, wq);
ETC_TILED(TiledWk, wk);
ETC_TILED(TiledWv, wv);
ETC_TILED(TiledGate, w_gate);
ETC_TILED(TiledUp, w_up);
ETC_SWIZZLED(SwizzledW, w);
ETC_SWIZZLED(SwizzledWq, wq);
ETC_SWIZZLED(SwizzledWk, wk);
ETC_SWIZZLED(SwizzledWv, wv);
ETC_SWIZZLED(SwizzledGate, w_gate);
ETC_SWIZZLED(SwizzledUp, w_up);

/// Whether each output has a bias that is added to its sum.
ETC_OPTION(GemmBias, bias, bool, false);

/// Whether Args has `bq`.
template <class Args, class = void>
struct HasQkvBias {
  static constexpr bool value = false;
};
template <class Args>
struct HasQkvBias<Args, Void<decltype(Args::bq)>> {
  static constexpr bool value = true;
};

template <bool first, bool... others>
struct OneLayout {
  static_assert(((first == others) && ...), "the weights of one call have one layout");
  static constexpr bool value = first;
};

/// One tensor, `w`, and its `bias`.
struct plain {
  template <class Config, class Args>
  static constexpr bool kBias = GemmBias<Config>::value;
  template <class Args>
  static constexpr bool kTiled = TiledW<Args>::value;
  template <class Args>
  static constexpr bool kSwizzled = SwizzledW<Args>::value;
  template <int rows, class Args>
  static ETC_DEVICE const bf16* Row(const Args& args, int m, int row) {
    return args.w + (i64(m) * rows + row) * Args::x_1;
  }
  template <class Args>
  static ETC_DEVICE const bf16* Bias(const Args& args, i64 n) {
    return args.bias + n;
  }
};

/// `wq`, `wk` and `wv`, whose outputs stand side by side, and where there are any, their biases
/// `bq`, `bk` and `bv`. No tile straddles two of them.
struct qkv {
  template <class Config, class Args>
  static constexpr bool kBias = HasQkvBias<Args>::value;
  template <class Args>
  static constexpr bool kTiled =
      OneLayout<TiledWq<Args>::value, TiledWk<Args>::value, TiledWv<Args>::value>::value;
  template <class Args>
  static constexpr bool kSwizzled =
      OneLayout<SwizzledWq<Args>::value, SwizzledWk<Args>::value, SwizzledWv<Args>::value>::value;
  template <int rows, class Args>
  static ETC_DEVICE const bf16* Row(const Args& args, int m, int row) {
    static_assert(Args::wq_0 % rows == 0 && Args::wk_0 % rows == 0 && Args::wv_0 % rows == 0,
                  "the outputs of `wq`, `wk` and `wv` are multiples of `rows`");
    i64 n = i64(m) * rows;
    const bf16* tensor = args.wq;
    if (n >= Args::wq_0 + Args::wk_0) {
      tensor = args.wv;
      n -= Args::wq_0 + Args::wk_0;
    } else if (n >= Args::wq_0) {
      tensor = args.wk;
      n -= Args::wq_0;
    }
    return tensor + (n + row) * Args::x_1;
  }
  template <class Args>
  static ETC_DEVICE const bf16* Bias(const Args& args, i64 n) {
    if (n >= Args::wq_0 + Args::wk_0) {
      return args.bv + (n - Args::wq_0 - Args::wk_0);
    }
    return n >= Args::wq_0 ? args.bk + (n - Args::wq_0) : args.bq + n;
  }
};

/// `w_gate` in the upper half of the tile, the same rows of `w_up` in the lower.
struct gate_up {
  template <class Config, class Args>
  static constexpr bool kBias = false;
  template <class Args>
  static constexpr bool kTiled = OneLayout<TiledGate<Args>::value, TiledUp<Args>::value>::value;
  template <class Args>
  static constexpr bool kSwizzled =
      OneLayout<SwizzledGate<Args>::value, SwizzledUp<Args>::value>::value;
  template <int rows, class Args>
  static ETC_DEVICE const bf16* Row(const Args& args, int m, int row) {
    constexpr int half = rows / 2;
    const bf16* tensor = row < half ? args.w_gate : args.w_up;
    return tensor + (i64(m) * half + row % half) * Args::x_1;
  }
};

}  // namespace etc
