// Wall time of each phase and pass, for `--time-passes`.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace etc {

class PhaseTimer {
 public:
  /// Runs `work`, notes how long it took under `name`, and yields its result.
  template <class Work>
  auto Time(std::string name, Work work) {
    auto start = std::chrono::steady_clock::now();
    auto result = work();
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    phases_.emplace_back(std::move(name), took.count());
    return result;
  }

  /// A table of milliseconds with their sum.
  [[nodiscard]] std::string Report() const;

 private:
  std::vector<std::pair<std::string, double>> phases_;
};

}  // namespace etc
