#include "runtime/weights/fill_team.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace etc::runtime {
namespace {

constexpr size_t kMostByItself = 16;

}  // namespace

FillTeam::~FillTeam() {
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

Status FillTeam::Start() {
  // One core is left to the thread that waits for them, and calls the driver meanwhile.
  const size_t others = std::max(std::thread::hardware_concurrency(), 2U) - 1;
  const size_t threads =
      std::min(wanted_ != 0 ? wanted_ : std::min(others, kMostByItself), pieces_.size());
  threads_.reserve(threads);
  for (size_t i = 0; i < threads; ++i) {
    {
      const std::lock_guard lock(mutex_);
      ++running_;
    }
    try {
      threads_.emplace_back([this] { Work(); });
    } catch (const std::system_error& error) {
      const std::lock_guard lock(mutex_);
      --running_;
      Stop();
      return Fail(ETC_ERROR_OUT_OF_MEMORY, "cannot start a thread: ", error.what());
    }
  }
  return {};
}

bool FillTeam::WaitForEnd(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, time, [&] { return running_ == 0; });
}

Status FillTeam::status() {
  const std::lock_guard lock(mutex_);
  return status_;
}

void FillTeam::Work() {
  Status status;
  try {
    status = FillPieces();
  } catch (const std::bad_alloc&) {
    status = {ETC_ERROR_OUT_OF_MEMORY, "out of memory"};
  }
  const std::lock_guard lock(mutex_);
  if (!status.Ok()) {
    Stop();
    if (status_.Ok()) {
      status_ = std::move(status);
    }
  }
  --running_;
  ended_.notify_one();
}

Status FillTeam::FillPieces() {
  std::vector<char> scratch;
  while (!is_stopped_) {
    const size_t at = next_.fetch_add(1, std::memory_order_relaxed);
    if (at >= pieces_.size()) {
      break;
    }
    char* to = place_(pieces_[at]);
    if (to == nullptr) {
      break;
    }
    ETC_RETURN_IF_BAD(FillPiece(plan_, pieces_[at], &scratch, to));
    filled_(pieces_[at], to);
  }
  return {};
}

}  // namespace etc::runtime
