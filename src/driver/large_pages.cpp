#include "driver/large_pages.h"

#ifdef ETC_MIMALLOC
#include <mimalloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#endif

namespace etc {

#ifdef ETC_MIMALLOC
namespace {

/// What mimalloc takes from the system at once. Each thread has at least one of these.
constexpr size_t kSegment = size_t{32} << 20;
constexpr size_t kSegments = 8;

}  // namespace

/// Nothing but time depends on whether the system does as it is asked.
void UseLargePages() {
  // Address space alone: pages become memory when they are written. Where that is limited, it is
  // left to those who need it.
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) {
    return;
  }
  size_t bytes = (kSegments + 1) * kSegment;
  void* region = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) {
    return;
  }
  void* segments = std::align(kSegment, kSegments * kSegment, region, bytes);
  if (madvise(segments, kSegments * kSegment, MADV_HUGEPAGE) == 0) {
    (void)mi_manage_os_memory(segments, kSegments * kSegment, true, false, true, -1);
  }
  // This thread has its first segment already.
  const auto own = std::make_unique<std::byte>();
  auto address = reinterpret_cast<uintptr_t>(own.get()) / kSegment * kSegment;
  (void)madvise(reinterpret_cast<void*>(address), kSegment, MADV_HUGEPAGE);
}
#else
void UseLargePages() {}
#endif

}  // namespace etc
