#include "support/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <system_error>

#include "support/stderr.h"

namespace etc {

Progress::Progress(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO) != 0) {
    try {
      thread_ = std::thread([this] { Show(); });
    } catch (const std::system_error&) {  // then nothing is shown
    }
  }
}

Progress::~Progress() {
  if (!thread_.joinable()) {
    return;
  }
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_one();
  thread_.join();
}

void Progress::Show() {
  std::unique_lock lock(mutex_);
  for (int seconds = 1;; ++seconds) {
    if (stop_changed_.wait_for(lock, std::chrono::seconds(1), [this] { return stop_; })) {
      if (seconds > 1) {
        PrintToStderr("\r\033[K");
        std::fflush(stderr);
      }
      return;
    }
    PrintToStderr("\r\033[Ketc: {} … {} s", what_, seconds);
    std::fflush(stderr);
  }
}

}  // namespace etc
