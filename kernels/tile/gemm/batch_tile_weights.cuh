// What the boxes of weights of a BatchTileGemm are, and the outputs of a task: of one tensor, or of
// two or three.
#pragma once

#include "arch/common/types.cuh"
#include "tile/gemm/tile_boxes.cuh"
#include "tile/gemm/weights.cuh"

namespace etc {

/// The outputs of a task: the first, and where those of its tensor end.
struct BatchTileOutputs {
  int first, end;
};

/// Of tasks of so many rows. Copy brings 64 k of those of a task; what is behind the end of a
/// tensor arrives as zeros. OutputsOf is given how many outputs there are in all.
template <class Weights, class Args, int rows>
struct BatchTileWeights;

template <class Args, int rows>
struct BatchTileWeights<plain, Args, rows> {
  static_assert(Args::w_box_0 == rows && Args::w_box_1 == 64, "a box is [rows, 64]");

  static ETC_DEVICE void Copy(const Args& args, u32 slot, int m, int k, u32 barrier, u64 policy) {
    CopyTiles(slot, args.w_map, k, m * rows, args.w_slice, barrier, policy);
  }
  static ETC_DEVICE BatchTileOutputs OutputsOf(int m, int all) { return {m * rows, all}; }
};

template <class Args, int rows>
struct BatchTileWeights<gate_up, Args, rows> {
  static constexpr int kHalf = rows / 2;
  static_assert(Args::w_gate_box_0 == kHalf && Args::w_up_box_0 == kHalf &&
                    Args::w_gate_box_1 == 64 && Args::w_up_box_1 == 64,
                "boxes are [rows / 2, 64]");

  static ETC_DEVICE void Copy(const Args& args, u32 slot, int m, int k, u32 barrier, u64 policy) {
    CopyTiles(slot, args.w_gate_map, k, m * kHalf, args.w_gate_slice, barrier, policy);
    CopyTiles(slot + kHalf * 128, args.w_up_map, k, m * kHalf, args.w_up_slice, barrier, policy);
  }
  static ETC_DEVICE BatchTileOutputs OutputsOf(int m, int all) { return {m * kHalf, all}; }
};

/// The tasks of `wq` come first, then those of `wk` and of `wv`: none has rows of two tensors.
template <class Args, int rows>
struct BatchTileWeights<qkv, Args, rows> {
  static_assert(Args::wq_box_0 == rows && Args::wk_box_0 == rows && Args::wv_box_0 == rows &&
                    Args::wq_box_1 == 64 && Args::wk_box_1 == 64 && Args::wv_box_1 == 64,
                "boxes are [rows, 64]");
  static constexpr int kQ = int(Args::wq_0), kK = int(Args::wk_0);
  static constexpr int kFirstK = DivideUp(kQ, rows), kFirstV = kFirstK + DivideUp(kK, rows);

  static ETC_DEVICE void Copy(const Args& args, u32 slot, int m, int k, u32 barrier, u64 policy) {
    const TensorMap* map = m < kFirstK ? args.wq_map : m < kFirstV ? args.wk_map : args.wv_map;
    int slice = m < kFirstK ? args.wq_slice : m < kFirstV ? args.wk_slice : args.wv_slice;
    int row = (m < kFirstK ? m : m < kFirstV ? m - kFirstK : m - kFirstV) * rows;
    CopyTiles(slot, map, k, row, slice, barrier, policy);
  }
  static ETC_DEVICE BatchTileOutputs OutputsOf(int m, int all) {
    if (m < kFirstK) {
      return {m * rows, kQ};
    }
    if (m < kFirstV) {
      return {kQ + (m - kFirstK) * rows, kQ + kK};
    }
    return {kQ + kK + (m - kFirstV) * rows, all};
  }
};

}  // namespace etc
