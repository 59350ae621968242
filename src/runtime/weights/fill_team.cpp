#include "runtime/weights/fill_team.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace etc::runtime {
namespace {

constexpr size_t kMostByItself = 16;

}  // namespace

FillTeam::FillTeam(const WeightPlan& plan, const std::vector<WeightPiece>& pieces, size_t threads,
                   Place place, Filled filled)
    : plan_(plan),
      pieces_(pieces),
      wanted_(threads),
      place_(std::move(place)),
      filled_(std::move(filled)),
      parts_(pieces.size()) {
  size_t end = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    Parts& parts = parts_[i];
    parts.elements = PartElements(plan, pieces[i]);
    const int64_t count = (pieces[i].elements + parts.elements - 1) / parts.elements;
    parts.left = static_cast<size_t>(count);
    parts.begin = end;
    end += static_cast<size_t>(count);
    parts.end = end;
  }
}

FillTeam::~FillTeam() {
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

Status FillTeam::Start() {
  // One core is left to the thread that waits for them, and calls the driver meanwhile.
  const size_t others = std::max(std::thread::hardware_concurrency(), 2U) - 1;
  const size_t threads = std::min(wanted_ != 0 ? wanted_ : std::min(others, kMostByItself),
                                  parts_.empty() ? 0 : parts_.back().end);
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
    status = FillParts();
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

Status FillTeam::FillParts() {
  std::vector<char> scratch;
  size_t at = 0;  // the piece that has the part
  while (!is_stopped_) {
    const size_t number = next_.fetch_add(1, std::memory_order_relaxed);
    while (at < parts_.size() && number >= parts_[at].end) {
      ++at;
    }
    if (at == parts_.size()) {
      break;
    }
    char* to = place_(at);
    if (to == nullptr) {
      break;
    }
    Parts& parts = parts_[at];
    const WeightPiece& piece = pieces_[at];
    const int64_t behind = static_cast<int64_t>(number - parts.begin) * parts.elements;
    WeightPiece part = piece;
    part.first += behind;
    part.elements = std::min(parts.elements, piece.elements - behind);
    ETC_RETURN_IF_BAD(FillPiece(plan_, part, &scratch, to + piece.BufferBytes(behind)));
    if (parts.left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      filled_(at);
    }
  }
  return {};
}

}  // namespace etc::runtime
