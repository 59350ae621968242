// Tensor core instructions of one warp.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

// c[16, 8] += a[16, 16] * b[16, 8]. With g = lane / 4 and q = lane % 4: a0 and a2 hold row g, a1
// and a3 row g + 8 (k = 2q.. and 2q + 8..), b0 and b1 column g of the same k; c0, c1 are row g,
// columns 2q and 2q + 1, c2, c3 row g + 8. Volatile: an operand that comes from a ring slot is
// thereby read before the arrive that follows in the text.
ETC_DEVICE void MmaBf16(float (&c)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
      " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Transposes an 8 x 8 matrix of 16-bit elements: row g, columns 2q and 2q + 1 of it in each lane.
ETC_DEVICE u32 Transpose8x8(u32 rows) {
  u32 columns;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(columns) : "r"(rows));
  return columns;
}

}  // namespace etc
