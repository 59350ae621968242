// Work on several threads: all of it is done once, also of callers inside of work and side by side.
#include "support/parallel.h"

#include <doctest/doctest.h>

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

}  // namespace
}  // namespace etc
