// The order of launches, for a thread sanitizer that watches a program and not the library which
// launches it.
#pragma once

#include <atomic>
#include <cstdint>

namespace etc_test {

/// A thread's part of a launch. The library begins no launch of an instance before the one in front
/// of it has ended, on whichever threads; so what a thread does follows all that was done over the
/// same events. Within a launch that orders nothing where all threads meet before their first task,
/// as with debug checks: none has ended when the last one begins.
class Launch {
 public:
  explicit Launch(const void* events) : ends_(EndsOf(events)) {
    (void)ends_.load(std::memory_order_acquire);
  }
  ~Launch() { ends_.fetch_add(1, std::memory_order_acq_rel); }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

 private:
  static std::atomic<uint64_t>& EndsOf(const void* events) {
    static std::atomic<uint64_t> ends[1021];  // instances that share one seem to be in order
    return ends[reinterpret_cast<uintptr_t>(events) / 64 % 1021];
  }
  std::atomic<uint64_t>& ends_;
};

}  // namespace etc_test

#define ETC_LAUNCH(events) const etc_test::Launch etc_test_launch(events)
