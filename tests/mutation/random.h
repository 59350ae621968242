// Random choices, the same for the same seed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace etc::mutation {

class Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}

  int64_t Below(int64_t n) { return static_cast<int64_t>(bits_() % static_cast<uint64_t>(n)); }
  bool Chance(int64_t one_in) { return Below(one_in) == 0; }
  template <class T>
  const T& Pick(const std::vector<T>& values) {
    return values[static_cast<size_t>(Below(static_cast<int64_t>(values.size())))];
  }
  int64_t Pick(std::initializer_list<int64_t> values) { return Pick(std::vector<int64_t>(values)); }

 private:
  std::mt19937_64 bits_;
};

}  // namespace etc::mutation
