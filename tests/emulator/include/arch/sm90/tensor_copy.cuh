// Emulated: see kernels/arch/sm90/tensor_copy.cuh.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

struct alignas(64) TensorMap {
  u64 words[16];
};

ETC_DEVICE void CopyFence() { emulator::WgmmaSharedFence(); }  // and of shared memory
ETC_DEVICE void TensorCopyElected(u32 shared, const TensorMap* map, int column, int row, int slice,
                                  u32 barrier) {
  emulator::TensorCopy(shared, map, column, row, slice, barrier);
}
ETC_DEVICE void TensorCopyElected(u32 shared, const TensorMap* map, int column, int row, int slice,
                                  u32 barrier, u64) {
  TensorCopyElected(shared, map, column, row, slice, barrier);
}

}  // namespace etc
