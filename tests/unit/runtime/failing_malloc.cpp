#include "runtime/failing_malloc.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

// glibc's own, under the names that stay when a program defines malloc itself.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* data, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* data);
}

namespace etc::test {
namespace {

// No constructor runs for these, so they are there before main and after it.
thread_local int64_t until_failure = -1;  // negative: none fails
thread_local bool all_after = false;
thread_local bool failed = false;
std::atomic<int64_t> live{0};

bool MayAllocate() {
  if (until_failure < 0) {
    return true;
  }
  if (until_failure > 0 && --until_failure > 0) {
    return true;
  }
  // Number 0 is the one that fails.
  if (failed && !all_after) {
    return true;
  }
  failed = true;
  errno = ENOMEM;
  return false;
}

void* Counted(void* data) {
  live += data != nullptr ? 1 : 0;
  return data;
}

}  // namespace

FailingMalloc::FailingMalloc(int64_t first, bool and_all_after) {
  all_after = and_all_after;
  failed = false;
  until_failure = first;
}

FailingMalloc::~FailingMalloc() { until_failure = -1; }

bool FailingMalloc::Failed() const { return failed; }

int64_t LiveAllocations() { return live; }

}  // namespace etc::test

using etc::test::Counted;
using etc::test::MayAllocate;

extern "C" {

void* malloc(size_t size) { return MayAllocate() ? Counted(__libc_malloc(size)) : nullptr; }

void* calloc(size_t count, size_t size) {
  return MayAllocate() ? Counted(__libc_calloc(count, size)) : nullptr;
}

void* realloc(void* data, size_t size) {
  if (!MayAllocate()) {
    return nullptr;
  }
  void* grown = __libc_realloc(data, size);
  return data == nullptr ? Counted(grown) : grown;
}

void* aligned_alloc(size_t alignment, size_t size) {
  return MayAllocate() ? Counted(__libc_memalign(alignment, size)) : nullptr;
}

void free(void* data) {
  etc::test::live -= data != nullptr ? 1 : 0;
  __libc_free(data);
}
}
