// What tensor cores have made, from registers into rows of shared memory.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

// Four 8 x 8 matrices of 16-bit elements, as LoadMatrices reads them: lane 8i + j gives the address
// of row j of matrix i, and has of each matrix the columns 2 (lane % 4) and the next of row
// lane / 4.
ETC_DEVICE void StoreMatrices(u32 address, Vec4 value) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

}  // namespace etc
