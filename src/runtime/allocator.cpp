#include "runtime/allocator.h"

#include <mutex>

#include "runtime/sized.h"

namespace etc::runtime {
namespace {

constexpr uintptr_t kAlignment = 256;

std::mutex mutex;
std::optional<etc_allocator> current;  // under the mutex

}  // namespace

Status SetAllocator(const etc_allocator* allocator) {
  std::optional<etc_allocator> taken;
  if (allocator != nullptr) {
    ETC_RETURN_IF_BAD(TakeSized("allocator", *allocator, &taken.emplace()));
    if (taken->allocate == nullptr || taken->release == nullptr) {
      return Fail(ETC_ERROR_ARGUMENT, "`allocator->",
                  taken->allocate == nullptr ? "allocate" : "release", "` is null");
    }
  }
  const std::lock_guard lock(mutex);
  current = taken;
  return {};
}

std::optional<etc_allocator> CurrentAllocator() {
  const std::lock_guard lock(mutex);
  return current;
}

Status AllocateBy(const etc_allocator& allocator, int64_t bytes, int32_t device, void* stream,
                  void** data) {
  void* given = allocator.allocate(allocator.user, bytes, device, stream);
  if (given == nullptr) {
    return Fail(ETC_ERROR_OUT_OF_MEMORY, "the caller's allocator gives no ", bytes, " bytes");
  }
  if (reinterpret_cast<uintptr_t>(given) % kAlignment != 0) {
    allocator.release(allocator.user, given, bytes, device);
    return Fail(ETC_ERROR_ARGUMENT, "the caller's allocator gave memory at ", given,
                ", but it must be aligned to ", kAlignment, " bytes");
  }
  *data = given;
  return {};
}

}  // namespace etc::runtime
