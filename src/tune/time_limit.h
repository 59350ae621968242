// The time that a search may take.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace etc {

/// During its life, sets a flag once so much time has gone by that what follows the search just
/// ends within the limit.
class TimeLimit {
 public:
  /// Without `seconds` there is no limit.
  TimeLimit(std::optional<double> seconds, std::atomic<bool>& reached);
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  /// Keeps so many seconds for what follows the search, in the place of those before.
  void Keep(double seconds);

 private:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;

  void Wait(const std::stop_token& over, Clock::time_point end);

  std::atomic<bool>& reached_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  double kept_ = 0;
  std::jthread thread_;
};

}  // namespace etc
