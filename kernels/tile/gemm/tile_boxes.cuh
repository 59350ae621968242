// Boxes of weights in tiles of 8 x 32: tensor copies of them, and their products.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/descriptor.cuh"
#include "arch/sm90/registers.cuh"
#include "arch/sm90/tensor_copy.cuh"
#include "arch/sm90/wgmma_shared.cuh"
#include "engine/layout.cuh"
#include "engine/roles.cuh"
#include "tile/gemm/ring_products.cuh"

namespace etc {

/// A box of tiles of 8 x 32 from `row` and `column` on. A row of tiles is one piece of memory,
/// whose words the map counts. `policy` may be the cache policy of the copy.
template <class... Policy>
ETC_DEVICE void CopyTiles(u32 shared, const TensorMap* map, int column, int row, int slice,
                          u32 barrier, Policy... policy) {
  TensorCopyElected(shared, map, column * kTileRows * 2 / int(sizeof(u64)), row / kTileRows, slice,
                    barrier, policy...);
}

/// Adds the products of a warpgroup's staged rows and so many slots, each a box of 64 k of `rows`
/// rows of weights. x.Stage() is where the rows of a step are staged, and `advance` goes on to the
/// next one once the step before is done.
template <int rows, class X, class Advance>
ETC_DEVICE void MultiplyTileBoxes(Consumer& consumer, int steps, const X& x,
                                  float (&sums)[rows / 2], const Advance& advance) {
  constexpr int tile = kTileRows * kTileColumns * 2;
  auto issue = [&](u32 slot, int) {
#pragma unroll
    for (int k = 0; k < X::kStep; k += 16) {
      u64 a = WgmmaDescriptor(x.Stage() + k * 2);
      u64 b = WgmmaTilesDescriptor<kTileRows * X::kStep * 2>(slot + k / kTileColumns * tile +
                                                             k % kTileColumns * 2);
      WgmmaShared<rows>::Multiply(sums, a, b, true);
    }
  };
  MultiplySlots(consumer, steps, issue, advance);
#pragma unroll
  for (float& sum : sums) {
    Pin(sum);  // not read any earlier
  }
}

}  // namespace etc
