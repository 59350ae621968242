// The memory of the ranks of a group that peers reach: the same on each of them.
#pragma once

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

/// Of each rank: a word for each peer with the launch that it has begun, then the event memory,
/// then the buffers.
class SymmetricMemory {
 public:
  /// A backend for each rank; they must outlive it.
  explicit SymmetricMemory(std::vector<Backend*> backends);
  ~SymmetricMemory();
  SymmetricMemory(const SymmetricMemory&) = delete;
  SymmetricMemory& operator=(const SymmetricMemory&) = delete;

  bool Fits(const SymmetricSizes& needed) const;
  /// Makes it fit, on all ranks. No launch is under way, and what it held is lost.
  Status Grow(const SymmetricSizes& needed);

  int64_t ranks() const { return static_cast<int64_t>(ranks_.size()); }
  int64_t event_counters() const { return sizes_.event_counters; }
  void* begun(size_t rank) const { return ranks_[rank].data; }
  void* events(size_t rank) const;
  void* buffers(size_t rank) const;
  /// From the memory of the rank to that of each rank, in bytes.
  const int64_t* distances(size_t rank) const { return ranks_[rank].distances.data(); }

 private:
  struct Rank {
    Backend* backend;
    char* data = nullptr;
    std::vector<int64_t> distances = {};
  };

  int64_t BuffersAt() const;
  void Release();

  std::vector<Rank> ranks_;
  SymmetricSizes sizes_;
  int64_t bytes_ = 0;  // of each rank
};

}  // namespace etc::runtime
