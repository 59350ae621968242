// The memory of the ranks of a group that peers reach: the same on each of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/peer_memory.h"
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
  explicit SymmetricMemory(std::unique_ptr<PeerMemory> peers) : peers_(std::move(peers)) {}
  SymmetricMemory(const SymmetricMemory&) = delete;
  SymmetricMemory& operator=(const SymmetricMemory&) = delete;

  PeerMemory& peers() { return *peers_; }
  const PeerMemory& peers() const { return *peers_; }
  /// Keeps it until the process ends: a launch that uses it does not.
  void Abandon() { (void)peers_.release(); }

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
  bool was_captured() const { return was_captured_; }

  int64_t ranks() const { return static_cast<int64_t>(peers_->ranks()); }
  int64_t event_counters() const { return sizes_.event_counters; }
  // Where this process reaches what a rank has.
  void* begun(size_t rank) const { return places_[rank]; }
  void* events(size_t rank) const;
  void* buffers(size_t rank) const;
  /// From the memory of a rank of this process to that of each rank, in bytes.
  const void* distances(size_t rank) const;

 private:
  int64_t BuffersAt() const;
  void Release();
  Status Fill(const PeerMemory::Local& local);
  Status FillLocals();

  std::unique_ptr<PeerMemory> peers_;
  std::vector<char*> places_;  // of each rank; none without memory
  SymmetricSizes sizes_;
  int64_t bytes_ = 0;  // of each rank
  /// Captures and failures come from the threads of all ranks.
  std::atomic<bool> was_captured_ = false;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace etc::runtime
