// Boxes of weights in tiles of 8 x 32, by tensor copies.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/tensor_copy.cuh"
#include "engine/layout.cuh"

namespace etc {

/// A box of tiles of 8 x 32 from `row` and `column` on. A row of tiles is one piece of memory,
/// whose words the map counts.
ETC_DEVICE void CopyTiles(u32 shared, const TensorMap* map, int column, int row, int slice,
                          u32 barrier) {
  TensorCopyElected(shared, map, column * kTileRows * 2 / int(sizeof(u64)), row / kTileRows, slice,
                    barrier);
}

}  // namespace etc
