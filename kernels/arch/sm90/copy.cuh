// Copies from global into shared memory that run on while the threads do something else.
#pragma once

#include "arch/common/types.cuh"

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

/// Has L2 fetch what BulkCopyElected will copy.
ETC_DEVICE void BulkPrefetchElected(const void* global, int bytes) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "@p cp.async.bulk.prefetch.L2.global [%0], %1;\n"
      "}" ::"l"(global),
      "r"(bytes)
      : "memory");
}

/// The same, of data that stay in L2 while others are streamed through it.
ETC_DEVICE void BulkPrefetchKeptElected(const void* global, int bytes) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      ".reg .b64 policy;\n"
      "createpolicy.fractional.L2::evict_last.b64 policy, 1.0;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "@p cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, policy;\n"
      "}" ::"l"(global),
      "r"(bytes)
      : "memory");
}

// Sixteen bytes, or zeros where nothing `exists`, and then nothing is read: not by way of L1, which
// may hold an older line.
// The writes are this thread's own, and generic: they count as such for every fence and barrier.
ETC_DEVICE void CopyPiece(u32 shared, const void* global, bool exists) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
               "r"(exists ? 16 : 0)
               : "memory");
}

/// Closes the group of this thread's pieces so far; it may be empty.
ETC_DEVICE void CopyCommit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Until at most `pending` groups of this thread's pieces are on their way.
template <int pending>
ETC_DEVICE void CopyWait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

}  // namespace etc
