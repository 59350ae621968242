#include "tune/time_limit.h"

namespace etc {

TimeLimit::TimeLimit(std::optional<double> seconds, std::atomic<bool>& reached)
    : reached_(reached) {
  if (seconds) {
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(*seconds));
    thread_ = std::jthread([this, end](const std::stop_token& over) { Wait(over, end); });
  }
}

void TimeLimit::Keep(double seconds) {
  std::lock_guard lock(mutex_);
  kept_ = seconds;
  changed_.notify_all();
}

void TimeLimit::Wait(const std::stop_token& over, Clock::time_point end) {
  std::unique_lock lock(mutex_);
  double kept = kept_;
  while (changed_.wait_until(lock, over, end - Seconds(kept), [&] { return kept_ != kept; })) {
    kept = kept_;
  }
  if (!over.stop_requested()) {
    reached_ = true;
    reached_.notify_all();
  }
}

}  // namespace etc
