// How a kernel learns of a parameter's layout: Args has `w_tile_0` and `w_tile_1` where `w` is
// stored in tiles, and neither where it is row-major.
#pragma once

#include "tile/options.cuh"

namespace etc {

// In tiles of 8 x 32 elements of two bytes the 16 bytes of a tile at lane * 16 are what the lane
// has of the tensor core's operand: row lane / 4, columns lane % 4 * 8 and the following. And 8
// rows by any number of tiles are one piece of memory.
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

}  // namespace etc
