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

// The same of an operand in tiles of 8 columns by 32 k, rows of 64 bytes, as `layout tile(8, 32,
// swizzle)` stores them: the 16 bytes j of row i stand at (j ^ i / 2 % 4) * 16 of a tile, which
// begins at a multiple of 512 bytes. The next 8 columns begin `stride` bytes behind. `shared` is
// the start of the tile that has the 16 k, plus twice the first of them in it.
ETC_DEVICE u64 WgmmaTileDescriptor(u32 shared, u32 stride) {
  constexpr u64 swizzle_64_bytes = u64(2) << 62;
  constexpr u64 ignored_stride = u64(1) << 16;
  return swizzle_64_bytes | u64(stride / 16) << 32 | ignored_stride | (shared & 0x3ffff) / 16;
}

}  // namespace etc
