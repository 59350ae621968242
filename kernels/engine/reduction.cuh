// Reductions of generated bodies.
#pragma once

#include "arch/common/types.cuh"
#include "engine/roles.cuh"

namespace etc {

/// What `combine` makes of the values of all consumer threads, in an order that is always the same:
/// first those of each warp, then those of the warps. All threads get it. `words` is shared memory
/// of 8 bytes for each warp, which none of them uses any more behind the call.
template <class T, class Combine>
ETC_DEVICE T ReduceTogether(Consumer& consumer, char* words, T value, Combine combine) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  T* of_warps = reinterpret_cast<T*>(words);
  if (consumer.lane == 0) {
    of_warps[consumer.warp] = value;
  }
  consumer.Sync();
  T all = of_warps[0];
#pragma unroll
  for (int warp = 1; warp < Consumer::kWarps; ++warp) {
    all = combine(all, of_warps[warp]);
  }
  consumer.Sync();
  return all;
}

}  // namespace etc
