// What a streamed GEMM can be made of: where a task's weight rows lie, and what becomes of its
// sums.
#pragma once

#include "arch/common/math.cuh"
#include "arch/common/types.cuh"
#include "arch/sm90/memory.cuh"
#include "arch/sm90/runs.cuh"
#include "engine/layout.cuh"
#include "engine/options.cuh"

namespace etc {

// Weights: where row `row` of the `rows` rows of task m starts. Where kTiled, it is a multiple of
// 8, and 8 rows start there, in tiles that may be swizzled.

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

template <bool first, bool... others>
struct OneLayout {
  static_assert(((first == others) && ...), "the weights of one call have one layout");
  static constexpr bool value = first;
};

/// One tensor, `w`.
struct plain {
  template <class Args>
  static constexpr bool kTiled = TiledW<Args>::value;
  template <class Args>
  static constexpr bool kSwizzled = SwizzledW<Args>::value;
  template <int rows, class Args>
  static ETC_DEVICE const bf16* Row(const Args& args, int m, int row) {
    return args.w + (i64(m) * rows + row) * Args::x_1;
  }
};

/// `wq`, `wk` and `wv`, whose outputs stand side by side. No tile straddles two of them.
struct qkv {
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
};

/// `w_gate` in the upper half of the tile, the same rows of `w_up` in the lower.
struct gate_up {
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

// Epilogues. kInputs sums make one output; an operand is read before the sums are there, so that
// its latency is hidden; kReadsPlain: not before the consumers have waited for it. Each call is for
// `run` neighbouring outputs n of one b, n a multiple of `run`.

struct NoOperand {};

/// y = sum
struct store {
  static constexpr bool kFindsLargest = false;
  static constexpr int kInputs = 1;
  template <class Args>
  static constexpr bool kReadsPlain = false;
  template <int run, class Args>
  static ETC_DEVICE NoOperand Operand(const Args&, i64, i64) {
    return {};
  }
  template <class Args, int run>
  static ETC_DEVICE void Apply(const Args& args, i64 b, i64 n, const float (&sums)[1][run],
                               NoOperand) {
    StoreRun(args.y, b * args.y_1 + n, sums[0]);
  }
};

/// y = sum, and largest [n / 16, b]: the largest of every 16 neighbouring outputs. So short columns
/// of all b are stored whole, and the arg-max has a sixteenth to read.
struct largest : store {
  static constexpr bool kFindsLargest = true;
  static constexpr int kBlock = 16;
};

/// y = residual + sum; both may be the same buffer.
struct residual {
  static constexpr bool kFindsLargest = false;
  static constexpr int kInputs = 1;
  template <class Args>
  static constexpr bool kReadsPlain = !IsFlagged<decltype(Args::residual)>::value;
  template <int run, class Args>
  static ETC_DEVICE auto Operand(const Args& args, i64 b, i64 n) {
    return ReadRun<run>(args.residual, b * args.residual_1 + n);
  }
  template <class Args, int run, class T>
  static ETC_DEVICE void Apply(const Args& args, i64 b, i64 n, const float (&sums)[1][run],
                               const T& operand) {
    float values[run];
    operand.Get(values);
#pragma unroll
    for (int i = 0; i < run; ++i) {
      values[i] += sums[0][i];
    }
    StoreRun(args.y, b * args.y_1 + n, values);
  }
};

/// y = silu(gate) * up
struct silu_mul {
  static constexpr bool kFindsLargest = false;
  static constexpr int kInputs = 2;
  template <class Args>
  static constexpr bool kReadsPlain = false;
  template <int run, class Args>
  static ETC_DEVICE NoOperand Operand(const Args&, i64, i64) {
    return {};
  }
  template <class Args, int run>
  static ETC_DEVICE void Apply(const Args& args, i64 b, i64 n, const float (&sums)[2][run],
                               NoOperand) {
    float values[run];
#pragma unroll
    for (int i = 0; i < run; ++i) {
      values[i] = Silu(sums[0][i]) * sums[1][i];
    }
    StoreRun(args.y, b * args.y_1 + n, values);
  }
};

}  // namespace etc
