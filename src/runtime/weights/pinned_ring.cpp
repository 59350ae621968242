#include "runtime/weights/pinned_ring.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "runtime/log.h"

namespace etc::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kPage = 4096;

/// How long a thread looks for room before it sleeps. A buffer of the usual size is copied within
/// 0.3 ms, and to be woken takes a good part of that.
constexpr std::chrono::microseconds kLookTime{200};

size_t RoundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

PinnedRing::~PinnedRing() {
  for (cuda::Stream stream : streams_) {
    if (stream != nullptr) {
      driver_.Note(driver_.cuStreamSynchronize(stream), "cuStreamSynchronize");
      driver_.Note(driver_.cuStreamDestroy_v2(stream), "cuStreamDestroy");
    }
  }
  events_.insert(events_.end(), copies_.begin(), copies_.end());
  for (cuda::Event event : events_) {
    driver_.Note(driver_.cuEventDestroy_v2(event), "cuEventDestroy");
  }
  for (size_t i = 0; i < pinned_; ++i) {
    driver_.Note(driver_.cuMemHostUnregister(begin_ + i * buffer_bytes_), "cuMemHostUnregister");
  }
  if (mapping_ != nullptr) {
    munmap(mapping_, mapping_bytes_);
  }
}

Status PinnedRing::Reserve(size_t buffers, int64_t bytes) {
  for (cuda::Stream& stream : streams_) {
    ETC_RETURN_IF_BAD(driver_.CheckMade(driver_.cuStreamCreate(&stream, cuda::kStreamNonBlocking),
                                        "cuStreamCreate", &stream));
  }
  const size_t all = PlacePieces(static_cast<size_t>(bytes));
  ring_bytes_ = std::min(buffers * buffer_bytes_, RoundUp(all, buffer_bytes_));
  room_ = ring_bytes_;
  const size_t room = ring_bytes_ + kHugePage;
  void* mapping = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return Fail(ETC_ERROR_OUT_OF_MEMORY, "cannot allocate ", room,
                " bytes for an upload: ", std::strerror(errno));
  }
  mapping_ = mapping;
  mapping_bytes_ = room;
  begin_ = reinterpret_cast<char*>(RoundUp(reinterpret_cast<uintptr_t>(mapping), kHugePage));
#ifdef MADV_HUGEPAGE
  // One fault and one page to pin for each two megabytes; elsewhere there are more.
  (void)madvise(begin_, ring_bytes_, MADV_HUGEPAGE);
#endif
  return {};
}

/// Gives where the last one ends. A buffer is pinned by itself, so no piece is in two of them.
size_t PinnedRing::PlacePieces(size_t buffer_bytes) {
  size_t largest = kPage;
  size_t all = 0;
  for (const WeightPiece& piece : pieces_) {
    const size_t bytes = RoundUp(static_cast<size_t>(piece.BufferBytes()), kPage);
    largest = std::max(largest, bytes);
    all += bytes;
  }
  buffer_bytes_ = std::max(largest, std::min(RoundUp(buffer_bytes, kPage), all));
  size_t end = 0;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const size_t bytes = RoundUp(static_cast<size_t>(pieces_[i].BufferBytes()), kPage);
    if (end % buffer_bytes_ + bytes > buffer_bytes_) {
      end = RoundUp(end, buffer_bytes_);
    }
    slots_[i].begin = end;
    end += bytes;
  }
  return end;
}

bool PinnedRing::MayFill(size_t piece) const {
  return slots_[piece].begin + static_cast<size_t>(pieces_[piece].BufferBytes()) <= room_ ||
         is_closed_;
}

char* PinnedRing::Place(size_t piece) {
  const Clock::time_point end = Clock::now() + kLookTime;
  while (!MayFill(piece)) {
    if (Clock::now() < end) {
      std::this_thread::yield();
      continue;
    }
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return MayFill(piece); });
  }
  return is_closed_ ? nullptr : DataOf(piece);
}

void PinnedRing::Give(size_t piece) {
  const std::lock_guard lock(mutex_);
  slots_[piece].is_given = true;
  given_.notify_one();
}

Status PinnedRing::Deliver(std::chrono::milliseconds time) {
  const Clock::time_point end = Clock::now() + time;
  do {
    bool any = false;
    while (IsNextGiven()) {
      ETC_RETURN_IF_BAD(Enqueue(next_));
      any = true;
    }
    ETC_RETURN_IF_BAD(FreeCopied(&any));
    if (any) {
      return {};
    }
    if (copies_.empty()) {
      std::unique_lock lock(mutex_);
      given_.wait_for(lock, time, [&] { return IsNextGiven(); });
      return {};
    }
    std::this_thread::yield();  // a core is left to this thread, unless the caller wants all
  } while (Clock::now() < end);
  return {};
}

Status PinnedRing::Enqueue(size_t index) {
  const WeightPiece& piece = pieces_[index];
  const size_t place = index % kStreams;
  cuda::Stream stream = streams_[place];
  cuda::Event copied = nullptr;
  ETC_RETURN_IF_BAD(TakeEvent(&copied));
  copies_.push_back(copied);
  ++next_;
  Pin(slots_[index].begin % ring_bytes_ / buffer_bytes_);
  const cuda::DevicePointer to = piece.is_raw
                                     ? packer_.Place(place)
                                     : reinterpret_cast<cuda::DevicePointer>(memory_[piece.param]) +
                                           static_cast<cuda::DevicePointer>(piece.At());
  ETC_RETURN_IF_BAD(
      driver_.Check(driver_.cuMemcpyHtoDAsync_v2(to, DataOf(index),
                                                 static_cast<size_t>(piece.BufferBytes()), stream),
                    "cuMemcpyHtoDAsync"));
  delivered_bytes_ += piece.Bytes();
  ETC_RETURN_IF_BAD(driver_.Check(driver_.cuEventRecord(copied, stream), "cuEventRecord"));
  return piece.is_raw ? packer_.Pack(piece, place, stream) : Status{};
}

Status PinnedRing::TakeEvent(cuda::Event* event) {
  if (events_.empty()) {
    return driver_.CheckMade(driver_.cuEventCreate(event, cuda::kEventDisableTiming),
                             "cuEventCreate", event);
  }
  *event = events_.back();
  events_.pop_back();
  return {};
}

/// Buffers get their first copies in their order. The copy of one that cannot be pinned is slower,
/// and right: the driver has taken its bytes when the call returns.
void PinnedRing::Pin(size_t buffer) {
  if (!can_pin_ || buffer != pinned_) {
    return;
  }
  const Status status =
      driver_.Check(driver_.cuMemHostRegister_v2(begin_ + buffer * buffer_bytes_, buffer_bytes_, 0),
                    "cuMemHostRegister");
  can_pin_ = status.Ok();
  if (can_pin_) {
    ++pinned_;
  } else {
    LogInfo("weights are uploaded from memory that is not pinned: ", status.message);
  }
}

Status PinnedRing::FreeCopied(bool* any) {
  while (!copies_.empty()) {
    const cuda::Result result = driver_.cuEventQuery(copies_.front());
    if (result == cuda::kNotReady) {
      break;
    }
    ETC_RETURN_IF_BAD(driver_.Check(result, "cuEventQuery"));
    *any = true;
    events_.push_back(copies_.front());
    copies_.pop_front();
    ++copied_;
    if (copied_ < slots_.size()) {
      const std::lock_guard lock(mutex_);
      room_ = slots_[copied_].begin + ring_bytes_;
      freed_.notify_all();
    }
  }
  return {};
}

void PinnedRing::Close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  freed_.notify_all();
}

Status PinnedRing::WaitForCopies() {
  for (cuda::Stream stream : streams_) {
    ETC_RETURN_IF_BAD(driver_.Check(driver_.cuStreamSynchronize(stream), "cuStreamSynchronize"));
  }
  return {};
}

}  // namespace etc::runtime
