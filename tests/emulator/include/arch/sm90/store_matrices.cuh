// Emulated: see kernels/arch/sm90/store_matrices.cuh.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE void StoreMatrices(u32 address, Vec4 value) {
  emulator::StoreMatrices(address, {value.x, value.y, value.z, value.w});
}

}  // namespace etc
