// How a wgmma instruction is told where its operand lies in shared memory.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

// The operand b, 16 k of some columns, in rows of 128 bytes, 64 k of one column each. Eight rows
// are an atom, which begins at a multiple of 1024 bytes; the 16 bytes j of row i stand at
// (j ^ i % 8) * 16 of it, and atoms follow each other. `shared` is the atom's start plus twice the
// first of the 16 k.
ETC_DEVICE u64 WgmmaDescriptor(u32 shared) {
  constexpr u64 swizzle_128_bytes = u64(1) << 62;
  constexpr u64 atom_stride = u64(1024 / 16) << 32;
  constexpr u64 ignored_stride = u64(1) << 16;
  return swizzle_128_bytes | atom_stride | ignored_stride | (shared & 0x3ffff) / 16;
}

// The same in swizzled tiles of 8 rows by 32 k, each an atom of 512 bytes: 8 rows of 64 bytes, the
// 16 bytes j of row i at (j ^ i / 2 % 4) * 16. `shared` is the first atom's start plus twice the
// first of the 16 k in it, and the next 8 rows follow `stride` bytes behind.
template <int stride>
ETC_DEVICE u64 WgmmaTilesDescriptor(u32 shared) {
  static_assert(stride % 512 == 0, "there are whole tiles in between");
  constexpr u64 swizzle_64_bytes = u64(2) << 62;
  constexpr u64 ignored_stride = u64(1) << 16;
  return swizzle_64_bytes | u64(stride / 16) << 32 | ignored_stride | (shared & 0x3ffff) / 16;
}

}  // namespace etc
