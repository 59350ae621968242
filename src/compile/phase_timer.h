// Wall time of each phase and pass, for `--time-passes`.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace etc {

class PhaseTimer {
 public:
  /// Runs `work`, notes how long it took under `name`, and yields its result. Work of one name is
  /// noted together.
  template <class Work>
  auto Time(const std::string& name, Work work) {
    Clock::time_point start = Clock::now();
    auto result = work();
    Note(name, Clock::now() - start);
    return result;
  }

  using Clock = std::chrono::steady_clock;
  /// Notes work that went on beside other phases: it is no part of the sum.
  void NoteBeside(std::string name, Clock::duration took);

  /// A table of milliseconds with their sum.
  [[nodiscard]] std::string Report() const;

 private:
  struct Phase {
    std::string name;
    double milliseconds;
    bool beside;
  };
  void Note(const std::string& name, Clock::duration took);

  std::vector<Phase> phases_;
};

}  // namespace etc
