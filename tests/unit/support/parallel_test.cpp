// Work on several threads: all of it is done once, also of callers inside of work and side by side.
#include "support/parallel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <new>
#include <numeric>
#include <vector>

namespace etc {
namespace {

/// How often each of `count` was called.
std::vector<int> CallsOf(size_t count, size_t threads) {
  std::vector<int> calls(count);
  ForEachInParallel(
      count, [&](size_t i) { ++calls[i]; }, threads);
  return calls;
}

TEST_CASE("each is called once, and is done at the end") {
  for (size_t count : {0, 1, 2, 7, 1000}) {
    for (size_t threads : {1, 2, 64}) {
      CHECK(CallsOf(count, threads) == std::vector<int>(count, 1));
    }
  }
}

TEST_CASE("work calls for work of its own") {
  std::vector<std::vector<int>> calls(50);
  ForEachInParallel(calls.size(), [&](size_t i) { calls[i] = CallsOf(i, 8); });
  for (size_t i = 0; i < calls.size(); ++i) {
    CHECK(calls[i] == std::vector<int>(i, 1));
  }
}

TEST_CASE("callers side by side") {
  std::vector<int> sums(4);
  {
    std::vector<std::jthread> callers;
    for (int& sum : sums) {
      callers.emplace_back([&sum] {
        for (int round = 0; round < 500; ++round) {
          const std::vector<int> calls = CallsOf(5, 3);
          sum += std::accumulate(calls.begin(), calls.end(), 0);
        }
      });
    }
  }
  CHECK(sums == std::vector<int>(4, 2500));
}

TEST_CASE("what fails on any thread fails here") {
  for (size_t threads : {1, 2, 16}) {
    CHECK_THROWS_AS(ForEachInParallel(
                        100,
                        [](size_t i) {
                          if (i % 7 == 3) {
                            throw std::bad_alloc();
                          }
                        },
                        threads),
                    std::bad_alloc);
  }
  CHECK(CallsOf(7, 16) == std::vector<int>(7, 1));
}

TEST_CASE("each chain is taken to its end, a step at a time") {
  for (size_t chains : {0, 1, 2, 9}) {
    for (size_t threads : {1, 2, 16}) {
      std::vector<int> steps(chains);
      std::vector<std::atomic<int>> at_once(chains);
      std::atomic<bool> apart = true;
      StepInParallel(
          chains,
          [&](size_t i) {
            apart = apart && ++at_once[i] == 1;
            ++steps[i];
            --at_once[i];
            return i * 20 + 1 - static_cast<size_t>(steps[i]);
          },
          threads);
      CHECK(apart);
      for (size_t i = 0; i < chains; ++i) {
        CHECK(steps[i] == static_cast<int>(i) * 20 + 1);
      }
    }
  }
}

TEST_CASE("on one thread the chain with the most steps left goes on") {
  std::vector<size_t> left{2, 5};
  std::vector<size_t> order;
  StepInParallel(
      2,
      [&](size_t i) {
        order.push_back(i);
        return --left[i];
      },
      1);
  CHECK(order == std::vector<size_t>{0, 1, 1, 1, 1, 0, 1});
}

}  // namespace
}  // namespace etc
