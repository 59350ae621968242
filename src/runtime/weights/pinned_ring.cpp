#include "runtime/weights/pinned_ring.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/log.h"

namespace etc::runtime {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kPage = 4096;

/// Between two looks at copies under way, of which each takes some 40 us: the device has others
/// meanwhile.
constexpr std::chrono::microseconds kLookTime{20};

size_t RoundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

PinnedRing::~PinnedRing() {
  for (cuda::Stream stream : streams_) {
    if (stream != nullptr) {
      driver_.Note(driver_.cuStreamSynchronize(stream), "cuStreamSynchronize");
      driver_.Note(driver_.cuStreamDestroy_v2(stream), "cuStreamDestroy");
    }
  }
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].copied != nullptr) {
      driver_.Note(driver_.cuEventDestroy_v2(buffers_[i].copied), "cuEventDestroy");
    }
    if (buffers_[i].is_pinned) {
      driver_.Note(driver_.cuMemHostUnregister(begin_ + i * stride_), "cuMemHostUnregister");
    }
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
  stride_ = RoundUp(std::max(static_cast<size_t>(bytes), size_t{1}), kPage);
  const size_t room = buffers * stride_ + kHugePage;
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
  (void)madvise(begin_, buffers * stride_, MADV_HUGEPAGE);
#endif
  buffers_.resize(buffers);
  unused_ = buffers;
  return {};
}

char* PinnedRing::Take() {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [&] { return is_closed_ || !free_.empty() || unused_ > 0; });
  if (is_closed_) {
    return nullptr;
  }
  if (free_.empty()) {
    return begin_ + (buffers_.size() - unused_--) * stride_;
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
  std::deque<Given> given;
  {
    const std::lock_guard lock(mutex_);
    given.swap(filled_);
  }
  for (const Given& each : given) {
    ETC_RETURN_IF_BAD(Enqueue(each));
  }
  bool any = !given.empty();
  ETC_RETURN_IF_BAD(FreeCopied(&any));
  if (any) {
    return {};
  }
  const std::chrono::microseconds longest = copies_.empty() ? time : kLookTime;
  std::unique_lock lock(mutex_);
  given_.wait_for(lock, longest, [&] { return !filled_.empty(); });
  return {};
}

Status PinnedRing::Enqueue(const Given& given) {
  Buffer& buffer = BufferAt(given.buffer);
  if (buffer.copied == nullptr) {
    ETC_RETURN_IF_BAD(
        driver_.CheckMade(driver_.cuEventCreate(&buffer.copied, cuda::kEventDisableTiming),
                          "cuEventCreate", &buffer.copied));
    Pin(given.buffer, &buffer);
  }
  const WeightPiece& piece = *given.piece;
  const size_t place = next_stream_;
  cuda::Stream stream = streams_[place];
  next_stream_ = (next_stream_ + 1) % kStreams;
  const cuda::DevicePointer to = piece.is_raw
                                     ? packer_.Place(place)
                                     : reinterpret_cast<cuda::DevicePointer>(memory_[piece.param]) +
                                           static_cast<cuda::DevicePointer>(piece.at);
  ETC_RETURN_IF_BAD(
      driver_.Check(driver_.cuMemcpyHtoDAsync_v2(to, given.buffer,
                                                 static_cast<size_t>(piece.BufferBytes()), stream),
                    "cuMemcpyHtoDAsync"));
  copies_.push_back(given.buffer);
  delivered_bytes_ += piece.bytes;
  ETC_RETURN_IF_BAD(driver_.Check(driver_.cuEventRecord(buffer.copied, stream), "cuEventRecord"));
  return piece.is_raw ? packer_.Pack(piece, place, stream) : Status{};
}

/// The copy of a buffer that cannot be pinned is slower, and right: the driver has taken its bytes
/// when the call returns.
void PinnedRing::Pin(char* data, Buffer* buffer) {
  if (!can_pin_) {
    return;
  }
  const Status status =
      driver_.Check(driver_.cuMemHostRegister_v2(data, stride_, 0), "cuMemHostRegister");
  buffer->is_pinned = can_pin_ = status.Ok();
  if (!status.Ok()) {
    LogInfo("weights are uploaded from memory that is not pinned: ", status.message);
  }
}

Status PinnedRing::FreeCopied(bool* any) {
  while (!copies_.empty()) {
    const cuda::Result result = driver_.cuEventQuery(BufferAt(copies_.front()).copied);
    if (result == cuda::kNotReady) {
      break;
    }
    ETC_RETURN_IF_BAD(driver_.Check(result, "cuEventQuery"));
    *any = true;
    const std::lock_guard lock(mutex_);
    free_.push_back(copies_.front());
    copies_.pop_front();
    freed_.notify_one();
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
