// How a kernel learns of a parameter's layout: Args has `w_tile_0` and `w_tile_1` where `w` is
// stored in tiles, and `w_swizzle` where these are swizzled, but nothing where it is row-major.
#pragma once

#include "engine/options.cuh"

namespace etc {

// In tiles of 8 x 32 elements of two bytes the 16 bytes of a tile at lane * 16 are what the lane
// has of the tensor core's operand: row lane / 4, columns lane % 4 * 8 and the following. And 8
// rows by any number of tiles are one piece of memory. Where they are swizzled, as for the 64-byte
// mode of wgmma, ldmatrix reads 8 columns of the 8 rows from different banks.
inline constexpr int kTileRows = 8;
inline constexpr int kTileColumns = 32;

/// Trait<Args>::value: whether `tensor` is stored in tiles of kTileRows x kTileColumns.
#define ETC_TILED(Trait, tensor)                                                               \
  template <class Args, class = void>                                                          \
  struct Trait {                                                                               \
    static constexpr bool value = false;                                                       \
  };                                                                                           \
  template <class Args>                                                                        \
  struct Trait<Args, ::etc::Void<decltype(Args::tensor##_tile_0)>> {                           \
    static_assert(Args::tensor##_tile_0 == kTileRows && Args::tensor##_tile_1 == kTileColumns, \
                  "the layout of `" #tensor "` is tile(8, 32)");                               \
    static constexpr bool value = true;                                                        \
  }

/// Trait<Args>::value: whether the tiles of `tensor` are swizzled.
#define ETC_SWIZZLED(Trait, tensor) ETC_OPTION(Trait, tensor##_swizzle, bool, false)

/// Where byte `a` of a tile by rows is stored in a tile, of which a row has kRowBytes.
template <bool swizzled, int kRowBytes = kTileColumns * 2>
ETC_DEVICE constexpr int InTile(int a) {
  static_assert(!swizzled || kRowBytes == 32 || kRowBytes == 64 || kRowBytes == 128,
                "a row of a swizzled tile has 32, 64 or 128 bytes");
  return swizzled ? a ^ (a >> 7 & (kRowBytes / 16 - 1)) << 4 : a;
}

}  // namespace etc
