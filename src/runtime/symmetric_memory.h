// The memory of the ranks of a group that peers reach: the same on each of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/backend.h"
#include "runtime/status.h"

namespace etc::runtime {

inline constexpr int64_t kMostRanks = 64;

struct SymmetricSizes {
  int64_t event_counters = 0;
  int64_t bytes = 0;  // of the buffers
};

/// Of each rank: a word for each peer with the launch that it has begun, then how far the memory of
/// each rank lies from the own one, then the event memory, then the buffers.
class SymmetricMemory {
 public:
  /// A backend for each rank; they must outlive it.
  explicit SymmetricMemory(std::vector<Backend*> backends);
  ~SymmetricMemory();
  SymmetricMemory(const SymmetricMemory&) = delete;
  SymmetricMemory& operator=(const SymmetricMemory&) = delete;

  bool Fits(const SymmetricSizes& needed) const;
  /// Makes it fit, on all ranks. No launch is enqueued from elsewhere, and what it held is lost.
  Status Grow(const SymmetricSizes& needed);
  /// A launch of some rank has failed, so ranks may have ended different launches, and words that
  /// peers have sent may be left: no rank launches until Renew.
  void NoteFailure() { has_failed_ = true; }
  bool has_failed() const { return has_failed_; }
  /// Has all ranks begin anew, once none has work left.
  Status Renew();
  /// A captured launch has the addresses of this memory, which is kept from now on when it grows.
  void NoteCapture() { was_captured_ = true; }

  int64_t ranks() const { return static_cast<int64_t>(ranks_.size()); }
  int64_t event_counters() const { return sizes_.event_counters; }
  void* begun(size_t rank) const { return ranks_[rank].data; }
  void* events(size_t rank) const;
  void* buffers(size_t rank) const;
  /// From the memory of the rank to that of each rank, in bytes.
  const void* distances(size_t rank) const;

 private:
  struct Rank {
    Backend* backend;
    char* data = nullptr;
  };

  int64_t BuffersAt() const;
  void Release();
  Status Fill(size_t rank);

  std::vector<Rank> ranks_;
  SymmetricSizes sizes_;
  int64_t bytes_ = 0;  // of each rank
  /// Captures come from the threads of all ranks.
  std::atomic<bool> was_captured_ = false;
  std::atomic<bool> has_failed_ = false;
  struct Retired {
    Backend* backend;
    void* data;
    int64_t bytes;
  };
  std::vector<Retired> retired_;
};

}  // namespace etc::runtime
