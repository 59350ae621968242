// Work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace etc {

/// Asks the system once, which opens a file for the answer.
inline size_t Cores() {
  static const size_t cores = std::max<size_t>(1, std::thread::hardware_concurrency());
  return cores;
}

/// Calls `take` on this thread, and on up to `helpers` others that stay for the next call: to start
/// a thread takes longer than much of what is done on one. Returns when all of them have returned.
/// An exception of one of them is thrown here. Where the system gives no threads, there are fewer
/// helpers.
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

/// Takes each of `chains` chains of work to its end, one step of a chain behind the other, and
/// several chains at once. `step` does the next step of a chain and yields how many are left. The
/// chain with the most steps left goes on first, so that none is left alone at the end.
template <class Step>
void StepInParallel(size_t chains, const Step& step, size_t threads = Cores()) {
  struct Chain {
    size_t left = SIZE_MAX;
    bool busy = false;
  };
  std::mutex mutex;
  std::vector<Chain> all(chains);
  auto next = [&] {
    Chain* most = nullptr;
    for (Chain& chain : all) {
      if (!chain.busy && chain.left > (most == nullptr ? 0 : most->left)) {
        most = &chain;
      }
    }
    return most;
  };
  TakeTogether(
      [&] {
        std::unique_lock lock(mutex);
        // A chain that is busy is gone on with by whoever is at it.
        while (Chain* chain = next()) {
          chain->busy = true;
          lock.unlock();
          size_t left = step(static_cast<size_t>(chain - all.data()));
          lock.lock();
          *chain = {left, false};
        }
      },
      std::max<size_t>(std::min(chains, threads), 1) - 1);
}

}  // namespace etc
