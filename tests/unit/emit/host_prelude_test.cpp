// What emitted C++ for the host stands on.
#include "emit/host_prelude.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

namespace etc {
namespace {

constexpr u32 kWords = 32;

double ThreadMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct NoFailure {
  bool Failed() const { return false; }
};
struct Failure {
  u32* failures;
  bool Failed() const { return LoadAcquire(failures) != 0; }
};

TEST_CASE("a long wait takes no time of a core, and ends with the last notify that it needs") {
  for (const int sms : {1, 1 << 20}) {
    for (const bool checks : {false, true}) {
      alignas(128) u32 memory[3 * kWords] = {};
      const Events events(memory, sms);
      double waited = 1e9;
      std::thread waiter([&] {
        const double before = ThreadMilliseconds();
        if (checks) {
          events.WaitOne(Consumer{}, NoFailure{}, 1, 3);
        } else {
          events.WaitOne(Consumer{}, 1, 3);
        }
        waited = ThreadMilliseconds() - before;
      });
      for (const u32 amount : {1U, 2U}) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        events.NotifyOne(Consumer{}, 0, 5);
        events.NotifyOne(Consumer{}, 1, amount);
      }
      waiter.join();
      CHECK(waited < 50);
      CHECK(memory[2 * kWords] == 3);
      CHECK(memory[kWords - 1] == 0);  // nobody sleeps
    }
  }
}

TEST_CASE("a wait ends when a check has failed, which notifies nobody") {
  alignas(128) u32 memory[2 * kWords] = {};
  u32 failures = 0;
  const Events events(memory, 1 << 20);
  std::thread waiter([&] { events.WaitOne(Consumer{}, Failure{&failures}, 0, 1); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  AddRelease(&failures, 1);
  waiter.join();
  CHECK(LoadAcquire(memory + kWords) == 0);
}

}  // namespace
}  // namespace etc
