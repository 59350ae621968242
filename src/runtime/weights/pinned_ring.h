// Buffers between threads that fill them and a device that copies them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "runtime/cuda_driver.h"
#include "runtime/status.h"
#include "runtime/weights/device_packer.h"
#include "runtime/weights/pieces.h"

namespace etc::runtime {

/// All calls of the driver are made by one thread, the owner's. Copies go through several streams
/// in turn, each with a place of the packer's, so that one piece is packed while the next ones are
/// copied, and a place is filled again behind the kernel that reads it. A buffer is pinned when its
/// first copy is due, while others are filled and copied: pinning all of them first takes as long
/// as a quarter of a load.
class PinnedRing {
 public:
  static constexpr size_t kStreams = 4;

  /// `packer` has a place for each stream, or no piece is raw.
  PinnedRing(const cuda::Driver& driver, const std::vector<void*>& memory,
             const DevicePacker& packer)
      : driver_(driver), memory_(memory), packer_(packer) {}
  ~PinnedRing();
  PinnedRing(const PinnedRing&) = delete;
  PinnedRing& operator=(const PinnedRing&) = delete;

  /// Addresses alone: memory comes as buffers are filled.
  Status Reserve(size_t buffers, int64_t bytes);

  /// For other threads: a buffer to fill, once there is one; null behind Close.
  char* Take();
  void Give(const WeightPiece& piece, char* buffer);

  /// Enqueues the copies of all buffers that were given, and frees those whose copies are done.
  /// Where there is none of either, it waits for one, but no longer than `time`.
  Status Deliver(std::chrono::milliseconds time);
  /// Wakes all who wait in Take.
  void Close();
  /// And for the kernels behind them.
  Status WaitForCopies();
  int64_t delivered_bytes() const { return delivered_bytes_; }

 private:
  struct Buffer {
    cuda::Event copied = nullptr;
    bool is_pinned = false;
  };
  struct Given {
    const WeightPiece* piece;
    char* buffer;
  };

  Buffer& BufferAt(const char* data) {
    return buffers_[static_cast<size_t>(data - begin_) / stride_];
  }
  Status Enqueue(const Given& given);
  void Pin(char* data, Buffer* buffer);
  Status FreeCopied(bool* any);

  const cuda::Driver& driver_;
  const std::vector<void*>& memory_;
  const DevicePacker& packer_;
  cuda::Stream streams_[kStreams] = {};
  size_t next_stream_ = 0;
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  char* begin_ = nullptr;  // of the first buffer, in the mapping
  size_t stride_ = 0;      // from one to the next
  std::vector<Buffer> buffers_;
  std::deque<char*> copies_;  // under way, in their order
  bool can_pin_ = true;
  int64_t delivered_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable freed_;
  std::condition_variable given_;
  std::vector<char*> free_;  // the last one is the likeliest to be in a cache
  size_t unused_ = 0;        // buffers at the end that nobody took yet
  std::deque<Given> filled_;
  bool is_closed_ = false;
};

}  // namespace etc::runtime
