// Random delays where the threads of a host program meet, so that they meet in other orders: seeded
// by the environment variable ETC_INTERLEAVE, and off without it. Only the build for the thread
// sanitizer compiles this into what it emits.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

namespace etc_test {

/// Nothing, a yield, or up to a tenth of a millisecond.
inline void Delay(uint64_t random) {
  if (random % 16 == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(random / 16 % 100));
  } else if (random % 4 == 0) {
    std::this_thread::yield();
  }
}

inline void Meeting() {
  static const char* const seed = std::getenv("ETC_INTERLEAVE");
  if (seed != nullptr) {
    static std::atomic<uint64_t> threads{std::strtoull(seed, nullptr, 10) << 32};
    static thread_local uint64_t state = 0;
    // A thread goes on where its last launch left off.
    if (state == 0) {
      state = (threads.fetch_add(1, std::memory_order_relaxed) + 1) * 0x9e3779b97f4a7c15;
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    Delay(state >> 32);
  }
}

}  // namespace etc_test

#define ETC_MEETING() etc_test::Meeting()
