// Allocations that fail when a test says so: of this thread, by malloc and what stands on it.
#pragma once

#include <cstdint>

namespace etc::test {

/// For as long as it lives, allocation number `first` (from 1) of this thread fails, or that one
/// and all after it.
class FailingMalloc {
 public:
  FailingMalloc(int64_t first, bool and_all_after);
  ~FailingMalloc();
  FailingMalloc(const FailingMalloc&) = delete;
  FailingMalloc& operator=(const FailingMalloc&) = delete;

  /// Whether one has failed.
  bool Failed() const;
};

/// Allocations of the process that were not freed.
int64_t LiveAllocations();

}  // namespace etc::test
