// How a thread looks for what it waits for before it sleeps.
#pragma once

#include <algorithm>
#include <chrono>

namespace etc::runtime {

/// Of one thread. Where the time ran out before, the thread sleeps at once for some waits: it may
/// keep the core from the very thread that it waits for.
class Spin {
 public:
  /// Looks until `done()` or the time is up; gives which.
  template <class Done>
  bool Until(Done done) {
    if (waits_to_skip_ > 0) {
      --waits_to_skip_;
      return done();
    }
    const auto start = std::chrono::steady_clock::now();
    do {
      for (int i = 0; i < kLooksPerClock; ++i) {
        if (done()) {
          in_vain_ = 0;
          return true;
        }
        Pause();
      }
    } while (std::chrono::steady_clock::now() - start < kTime);
    in_vain_ = std::min(in_vain_ + 1, kMostInVain);
    waits_to_skip_ = (1 << in_vain_) - 1;
    return false;
  }

 private:
  /// A wake-up costs about as much. Launches that follow one another find the threads awake.
  static constexpr std::chrono::microseconds kTime{50};
  static constexpr int kLooksPerClock = 32;
  static constexpr int kMostInVain = 5;

  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  int in_vain_ = 0;        // times in a row
  int waits_to_skip_ = 0;  // 2 to their power, less one
};

}  // namespace etc::runtime
