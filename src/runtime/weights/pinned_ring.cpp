#include "runtime/weights/pinned_ring.h"

namespace etc::runtime {

PinnedRing::~PinnedRing() {
  if (stream_ != nullptr) {
    driver_.cuStreamSynchronize(stream_);
    driver_.cuStreamDestroy_v2(stream_);
  }
  for (const Copy& copy : copies_) {
    driver_.cuEventDestroy_v2(copy.done);
  }
  for (cuda::Event event : events_) {
    driver_.cuEventDestroy_v2(event);
  }
  for (void* buffer : buffers_) {
    driver_.cuMemFreeHost(buffer);
  }
}

Status PinnedRing::Allocate(size_t buffers, int64_t bytes) {
  ETC_RETURN_IF_BAD(
      driver_.Check(driver_.cuStreamCreate(&stream_, cuda::kStreamNonBlocking), "cuStreamCreate"));
  buffers_.reserve(buffers);
  events_.reserve(buffers);
  for (size_t i = 0; i < buffers; ++i) {
    void* buffer = nullptr;
    cuda::Event event = nullptr;
    ETC_RETURN_IF_BAD(driver_.Check(driver_.cuMemHostAlloc(&buffer, static_cast<size_t>(bytes), 0),
                                    "cuMemHostAlloc"));
    buffers_.push_back(buffer);
    ETC_RETURN_IF_BAD(
        driver_.Check(driver_.cuEventCreate(&event, cuda::kEventDefault), "cuEventCreate"));
    events_.push_back(event);
    free_.push_back(static_cast<char*>(buffer));
  }
  return {};
}

char* PinnedRing::Take() {
  std::unique_lock lock(mutex_);
  ++waiting_;
  given_.notify_one();
  freed_.wait(lock, [&] { return is_closed_ || !free_.empty(); });
  --waiting_;
  if (is_closed_) {
    return nullptr;
  }
  char* buffer = free_.back();
  free_.pop_back();
  return buffer;
}

void PinnedRing::Give(const WeightPiece& piece, char* buffer) {
  const std::lock_guard lock(mutex_);
  filled_.push_back({&piece, buffer});
  given_.notify_one();
}

Status PinnedRing::Deliver(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  const auto is_wanted = [&] { return waiting_ > free_.size() && !copies_.empty(); };
  given_.wait_for(lock, time, [&] { return !filled_.empty() || is_wanted(); });
  if (!filled_.empty()) {
    const Given given = filled_.front();
    filled_.pop_front();
    lock.unlock();
    return Enqueue(given);
  }
  const bool is_free_wanted = is_wanted();
  lock.unlock();
  return is_free_wanted ? FreeOldest() : Status{};
}

Status PinnedRing::Enqueue(const Given& given) {
  const auto to = reinterpret_cast<cuda::DevicePointer>(memory_[given.piece->param]) +
                  static_cast<cuda::DevicePointer>(given.piece->at);
  ETC_RETURN_IF_BAD(
      driver_.Check(driver_.cuMemcpyHtoDAsync_v2(to, given.buffer,
                                                 static_cast<size_t>(given.piece->bytes), stream_),
                    "cuMemcpyHtoDAsync"));
  // There are as many events as buffers.
  copies_.push_back({given.buffer, events_.back()});
  events_.pop_back();
  delivered_bytes_ += given.piece->bytes;
  return driver_.Check(driver_.cuEventRecord(copies_.back().done, stream_), "cuEventRecord");
}

Status PinnedRing::FreeOldest() {
  const Copy copy = copies_.front();
  ETC_RETURN_IF_BAD(driver_.Check(driver_.cuEventSynchronize(copy.done), "cuEventSynchronize"));
  copies_.pop_front();
  events_.push_back(copy.done);
  const std::lock_guard lock(mutex_);
  free_.push_back(copy.buffer);
  freed_.notify_one();
  return {};
}

void PinnedRing::Close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  freed_.notify_all();
}

Status PinnedRing::WaitForCopies() {
  return driver_.Check(driver_.cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

}  // namespace etc::runtime
