// Copies of boxes of a tensor from global into shared memory, which run on by themselves.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

/// What the copy engine knows of a tensor of three axes. The driver makes it (docs/runtime.md), and
/// it lies among the arguments of the launch.
struct alignas(64) TensorMap {
  u64 words[16];
};

/// Writes of this thread come before what the copy engine reads, in front of a release; and behind
/// an acquire, what the engine reads for this thread comes after what was released.
ETC_DEVICE void CopyFence() { asm volatile("fence.proxy.async;" ::: "memory"); }

// The box that begins at a column of a row of a slice, into memory at a multiple of 1024 bytes: its
// rows one behind the other, swizzled as WgmmaDescriptor says, zeros where the tensor has nothing.
// Completes at `barrier` with the bytes of a whole box. All lanes of the warp give the same
// operands, and one is elected to issue it.
ETC_DEVICE void TensorCopyElected(u32 shared, const TensorMap* map, int column, int row, int slice,
                                  u32 barrier) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "@p cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4}], [%5];\n"
      "}" ::"r"(shared),
      "l"(map), "r"(column), "r"(row), "r"(slice), "r"(barrier)
      : "memory");
}

// The same with a cache policy (arch/sm90/copy.cuh).
ETC_DEVICE void TensorCopyElected(u32 shared, const TensorMap* map, int column, int row, int slice,
                                  u32 barrier, u64 policy) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "@p cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5], %6;\n"
      "}" ::"r"(shared),
      "l"(map), "r"(column), "r"(row), "r"(slice), "r"(barrier), "l"(policy)
      : "memory");
}

}  // namespace etc
