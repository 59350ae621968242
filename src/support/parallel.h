// Work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace etc {

inline size_t Cores() { return std::max<size_t>(1, std::thread::hardware_concurrency()); }

/// Calls `work` with 0 .. count - 1, once each and in no order, on so many threads at most.
template <class Work>
void ForEachInParallel(size_t count, const Work& work, size_t threads = Cores()) {
  std::atomic<size_t> next = 0;
  auto take = [&] {
    for (size_t i = next++; i < count; i = next++) {
      work(i);
    }
  };
  size_t workers = std::min(count, threads);
  std::vector<std::jthread> others;
  for (size_t i = 1; i < workers; ++i) {
    others.emplace_back(take);
  }
  take();
}

}  // namespace etc
