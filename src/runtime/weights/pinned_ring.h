// Pinned buffers between threads that fill them and a device that copies them.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "runtime/cuda_driver.h"
#include "runtime/status.h"
#include "runtime/weights/pieces.h"

namespace etc::runtime {

/// All calls of the driver are made by one thread, the owner's.
class PinnedRing {
 public:
  PinnedRing(const cuda::Driver& driver, const std::vector<void*>& memory)
      : driver_(driver), memory_(memory) {}
  ~PinnedRing();
  PinnedRing(const PinnedRing&) = delete;
  PinnedRing& operator=(const PinnedRing&) = delete;

  Status Allocate(size_t buffers, int64_t bytes);

  /// For other threads: a buffer to fill, once there is one; null behind Close.
  char* Take();
  void Give(const WeightPiece& piece, char* buffer);

  /// Enqueues the copy of a buffer that was given, or makes an old one free. Waits no longer than
  /// `time` for either.
  Status Deliver(std::chrono::milliseconds time);
  /// Wakes all who wait in Take.
  void Close();
  Status WaitForCopies();
  int64_t delivered_bytes() const { return delivered_bytes_; }

 private:
  struct Given {
    const WeightPiece* piece;
    char* buffer;
  };
  struct Copy {
    char* buffer;
    cuda::Event done;
  };

  Status Enqueue(const Given& given);
  Status FreeOldest();

  const cuda::Driver& driver_;
  const std::vector<void*>& memory_;
  cuda::Stream stream_ = nullptr;
  std::vector<void*> buffers_;
  std::vector<cuda::Event> events_;  // of copies that are done
  std::deque<Copy> copies_;          // under way, in their order
  int64_t delivered_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable freed_;
  std::condition_variable given_;
  std::vector<char*> free_;
  std::deque<Given> filled_;
  size_t waiting_ = 0;  // threads in Take
  bool is_closed_ = false;
};

}  // namespace etc::runtime
