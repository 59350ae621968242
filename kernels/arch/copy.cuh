// Bulk copies from global into shared memory, done by the copy engine.
#pragma once

#include "arch/types.cuh"

namespace etc {

/// The cache policy of data that is read once: it leaves L2 before anything else does.
ETC_DEVICE u64 EvictFirstPolicy() {
  u64 policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// Completes at `barrier`, counted in bytes. Addresses and size are multiples of 16. The engine
// reads through the async proxy: the source must be memory that nothing in this launch writes. All
// lanes of the warp give the same operands, and one is elected to issue it: operands that differ
// from lane to lane would cost a loop over the lanes.
ETC_DEVICE void BulkCopyElected(u32 shared, const void* global, int bytes, u32 barrier,
                                u64 policy) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "@p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1], %2, [%3], %4;\n"
      "}" ::"r"(shared),
      "l"(global), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
}

}  // namespace etc
