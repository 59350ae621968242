// Emulated: see kernels/arch/sm90/copy.cuh.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE u64 EvictFirstPolicy() { return 0; }
ETC_DEVICE void BulkCopyElected(u32 shared, const void* global, int bytes, u32 barrier, u64) {
  emulator::BulkCopy(shared, global, bytes, barrier);
}
ETC_DEVICE void BulkPrefetchElected(const void* global, int bytes) {
  emulator::BulkPrefetch(global, bytes);
}
ETC_DEVICE void BulkPrefetchKeptElected(const void* global, int bytes) {
  emulator::BulkPrefetch(global, bytes);
}
ETC_DEVICE void CopyPiece(u32 shared, const void* global, bool exists) {
  emulator::CopyPiece(shared, global, exists);
}
ETC_DEVICE void CopyCommit() { emulator::CopyCommit(); }
template <int pending>
ETC_DEVICE void CopyWait() {
  emulator::CopyWait(pending);
}

}  // namespace etc
