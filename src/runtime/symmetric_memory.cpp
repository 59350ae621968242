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

/// Once no rank has work left: a peer may still be on its way into the memory of one that has
/// ended.
void SymmetricMemory::Release() {
  if (!places_.empty() && peers_->Drain().Ok() && !was_captured_) {
    peers_->Free(places_);
  }
  places_.clear();
  sizes_ = {};
  bytes_ = 0;
  was_captured_ = false;
}

int64_t SymmetricMemory::BuffersAt() const {
  const int64_t end = kEventsAt + LaunchMemory::EventBytes(sizes_.event_counters);
  return (end + kAlignment - 1) / kAlignment * kAlignment;
}

const void* SymmetricMemory::distances(size_t rank) const { return places_[rank] + kBegunBytes; }
void* SymmetricMemory::events(size_t rank) const { return places_[rank] + kEventsAt; }
void* SymmetricMemory::buffers(size_t rank) const { return places_[rank] + BuffersAt(); }

bool SymmetricMemory::Fits(const SymmetricSizes& needed) const {
  return bytes_ > 0 && needed.event_counters <= sizes_.event_counters &&
         needed.bytes <= sizes_.bytes;
}

/// Zeros and the table.
Status SymmetricMemory::Fill(const PeerMemory::Local& local) {
  char* own = places_[local.rank];
  std::vector<int64_t> distances;
  for (const char* peer : places_) {
    distances.push_back(
        static_cast<int64_t>(reinterpret_cast<uintptr_t>(peer) - reinterpret_cast<uintptr_t>(own)));
  }
  ETC_RETURN_IF_BAD(local.backend->Zero(own, bytes_, nullptr));
  ETC_RETURN_IF_BAD(local.backend->Write(own + kBegunBytes,
                                         static_cast<int64_t>(distances.size() * sizeof(int64_t)),
                                         distances.data()));
  return local.backend->Drain();
}

/// All are ready before any launch of a peer writes into one.
Status SymmetricMemory::FillLocals() {
  Status status;
  for (const PeerMemory::Local& local : peers_->locals()) {
    if (status.Ok()) {
      status = OfRank(local.rank, Fill(local));
    }
  }
  return peers_->Meet(std::move(status));
}

Status SymmetricMemory::Renew() {
  ETC_RETURN_IF_BAD(peers_->Drain());
  ETC_RETURN_IF_BAD(FillLocals());
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
  Status status = peers_->Allocate(bytes_, &places_);
  if (!status.Ok()) {
    places_.clear();  // freed already
  } else {
    status = FillLocals();
  }
  if (!status.Ok()) {
    Release();
  }
  return status;
}

}  // namespace etc::runtime
