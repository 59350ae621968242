#include "runtime/symmetric_memory.h"

#include <algorithm>

#include "runtime/launch_memory.h"
#include "runtime/log.h"

namespace etc::runtime {
namespace {

// docs/multi-gpu.md.
constexpr int64_t kBegunBytes = kMostRanks * 64;
constexpr int64_t kTableBytes = kMostRanks * 8;
constexpr int64_t kEventsAt = kBegunBytes + kTableBytes;
constexpr int64_t kAlignment = 256;

}  // namespace

SymmetricMemory::SymmetricMemory(std::vector<Backend*> backends) {
  for (Backend* backend : backends) {
    ranks_.push_back({backend});
  }
}

SymmetricMemory::~SymmetricMemory() {
  was_captured_ = false;
  Release();
  for (const Retired& memory : retired_) {
    memory.backend->FreeShared(memory.data, memory.bytes);
  }
}

/// Once no rank has work left: a peer may still be on its way into the memory of one that has
/// ended.
void SymmetricMemory::Release() {
  for (const Rank& rank : ranks_) {
    if (rank.data != nullptr) {
      (void)rank.backend->Drain();
    }
  }
  for (Rank& rank : ranks_) {
    if (rank.data != nullptr && was_captured_) {
      retired_.push_back({rank.backend, rank.data, bytes_});
    } else if (rank.data != nullptr) {
      rank.backend->FreeShared(rank.data, bytes_);
    }
    rank.data = nullptr;
  }
  sizes_ = {};
  bytes_ = 0;
  was_captured_ = false;
}

int64_t SymmetricMemory::BuffersAt() const {
  const int64_t end = kEventsAt + LaunchMemory::EventBytes(sizes_.event_counters);
  return (end + kAlignment - 1) / kAlignment * kAlignment;
}

const void* SymmetricMemory::distances(size_t rank) const {
  return ranks_[rank].data + kBegunBytes;
}
void* SymmetricMemory::events(size_t rank) const { return ranks_[rank].data + kEventsAt; }
void* SymmetricMemory::buffers(size_t rank) const { return ranks_[rank].data + BuffersAt(); }

bool SymmetricMemory::Fits(const SymmetricSizes& needed) const {
  return bytes_ > 0 && needed.event_counters <= sizes_.event_counters &&
         needed.bytes <= sizes_.bytes;
}

/// Zeros and the table.
Status SymmetricMemory::Fill(size_t rank) {
  const Rank& own = ranks_[rank];
  std::vector<int64_t> distances;
  for (const Rank& peer : ranks_) {
    distances.push_back(static_cast<int64_t>(reinterpret_cast<uintptr_t>(peer.data) -
                                             reinterpret_cast<uintptr_t>(own.data)));
  }
  ETC_RETURN_IF_BAD(own.backend->Zero(own.data, bytes_, nullptr));
  ETC_RETURN_IF_BAD(own.backend->Write(own.data + kBegunBytes,
                                       static_cast<int64_t>(distances.size() * sizeof(int64_t)),
                                       distances.data()));
  return own.backend->Drain();
}

Status SymmetricMemory::Renew() {
  for (const Rank& rank : ranks_) {
    ETC_RETURN_IF_BAD(rank.backend->Drain());
  }
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (Status status = Fill(rank); !status.Ok()) {
      return Fail(status.code, "rank ", rank, ": ", status.message);
    }
  }
  has_failed_ = false;
  return {};
}

Status SymmetricMemory::Grow(const SymmetricSizes& needed) {
  const SymmetricSizes sizes{std::max(sizes_.event_counters, needed.event_counters),
                             std::max(sizes_.bytes, needed.bytes)};
  Release();
  sizes_ = sizes;
  bytes_ = BuffersAt() + sizes_.bytes;
  LogInfo("allocates ", bytes_, " bytes of symmetric memory on each of ", ranks(), " ranks");
  Status status;
  size_t at = 0;
  for (; at < ranks_.size() && status.Ok(); ++at) {
    void* data = nullptr;
    status = ranks_[at].backend->AllocateShared(bytes_, &data);
    ranks_[at].data = static_cast<char*>(data);
  }
  // All are ready before any launch of a peer writes into one.
  for (size_t rank = 0; rank < ranks_.size() && status.Ok(); ++rank) {
    status = Fill(rank);
    at = rank + 1;
  }
  if (status.Ok()) {
    return {};
  }
  Release();
  return Fail(status.code, "rank ", at - 1, ": ", status.message);
}

}  // namespace etc::runtime
