// Memory between threads that fill pieces and a device that copies them.
#pragma once

#include <atomic>
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

/// Buffers that are used in turn. A piece is in one of them, behind the piece before it where there
/// is room. Pieces are copied in their order, and one may be filled once those are copied that had
/// its bytes before. So whoever fills the first piece that is not filled waits for the device
/// alone.
///
/// All calls of the driver are made by one thread, the owner's. Copies go through several streams
/// in turn, each with a place of the packer's, so that one piece is packed while the next ones are
/// copied, and a place is filled again behind the kernel that reads it. A buffer is pinned when its
/// first copy is due, while others are filled and copied.
class PinnedRing {
 public:
  static constexpr size_t kStreams = 4;

  /// `packer` has a place for each stream, or no piece is raw.
  PinnedRing(const cuda::Driver& driver, const std::vector<void*>& memory,
             const DevicePacker& packer, const std::vector<WeightPiece>& pieces)
      : driver_(driver), memory_(memory), packer_(packer), pieces_(pieces), slots_(pieces.size()) {}
  ~PinnedRing();
  PinnedRing(const PinnedRing&) = delete;
  PinnedRing& operator=(const PinnedRing&) = delete;

  /// At most so many buffers of `bytes`, or what the largest piece takes. Addresses alone: memory
  /// comes as buffers are filled.
  Status Reserve(size_t buffers, int64_t bytes);

  /// For other threads: where the piece of that number is filled, once there is room for it; null
  /// behind Close.
  char* Place(size_t piece);
  /// The whole piece is there.
  void Give(size_t piece);

  /// Enqueues the copies of pieces that were given, up to the first one that was not, and makes
  /// room behind those that are done. Where there is none of either, it waits for one, but no
  /// longer than `time`.
  Status Deliver(std::chrono::milliseconds time);
  /// Wakes all who wait in Place.
  void Close();
  /// And for the kernels behind them.
  Status WaitForCopies();
  int64_t delivered_bytes() const { return delivered_bytes_; }

 private:
  struct Slot {
    size_t begin = 0;  // of the piece, as if no byte were used again
    std::atomic<bool> is_given{false};
  };

  size_t PlacePieces(size_t buffer_bytes);
  bool MayFill(size_t piece) const;
  bool IsNextGiven() const { return next_ < slots_.size() && slots_[next_].is_given; }
  char* DataOf(size_t piece) const { return begin_ + slots_[piece].begin % ring_bytes_; }
  Status Enqueue(size_t index);
  Status TakeEvent(cuda::Event* event);
  void Pin(size_t buffer);
  Status FreeCopied(bool* any);

  const cuda::Driver& driver_;
  const std::vector<void*>& memory_;
  const DevicePacker& packer_;
  const std::vector<WeightPiece>& pieces_;
  cuda::Stream streams_[kStreams] = {};
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  char* begin_ = nullptr;  // of the first buffer, in the mapping
  size_t buffer_bytes_ = 0;
  size_t ring_bytes_ = 0;  // of all buffers
  size_t pinned_ = 0;      // buffers, from the first one on
  bool can_pin_ = true;

  // Used by the owner's thread alone.
  size_t next_ = 0;                  // piece to enqueue
  size_t copied_ = 0;                // pieces
  std::deque<cuda::Event> copies_;   // under way: of the pieces from copied_ to next_
  std::vector<cuda::Event> events_;  // no copy's
  int64_t delivered_bytes_ = 0;

  std::vector<Slot> slots_;      // of each piece
  std::atomic<size_t> room_{0};  // what ends in front of it, as slots count, may be filled
  std::atomic<bool> is_closed_{false};
  std::mutex mutex_;
  std::condition_variable freed_;
  std::condition_variable given_;
};

}  // namespace etc::runtime
