// Work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>

namespace etc {

inline size_t Cores() { return std::max<size_t>(1, std::thread::hardware_concurrency()); }

/// Calls `take` on this thread, and on up to `helpers` others that stay for the next call: to start
/// a thread takes longer than much of what is done on one. Returns when all of them have returned.
void TakeTogether(const std::function<void()>& take, size_t helpers);

/// Calls `work` with 0 .. count - 1, once each and in no order, on so many threads at most.
template <class Work>
void ForEachInParallel(size_t count, const Work& work, size_t threads = Cores()) {
  std::atomic<size_t> next = 0;
  TakeTogether(
      [&] {
        for (size_t i = next++; i < count; i = next++) {
          work(i);
        }
      },
      std::max<size_t>(std::min(count, threads), 1) - 1);
}

}  // namespace etc
