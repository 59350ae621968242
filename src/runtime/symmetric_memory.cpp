#include "runtime/symmetric_memory.h"

#include <algorithm>

#include "runtime/launch_memory.h"
#include "runtime/log.h"

namespace etc::runtime {
namespace {

constexpr int64_t kBegunBytes = kMostRanks * 64;  // docs/multi-gpu.md
constexpr int64_t kAlignment = 256;

}  // namespace

SymmetricMemory::SymmetricMemory(std::vector<Backend*> backends) {
  for (Backend* backend : backends) {
    ranks_.push_back({backend});
  }
}

SymmetricMemory::~SymmetricMemory() { Release(); }

void SymmetricMemory::Release() {
  for (Rank& rank : ranks_) {
    if (rank.data != nullptr) {
      rank.backend->Free(rank.data, bytes_);
      rank.data = nullptr;
    }
  }
  sizes_ = {};
  bytes_ = 0;
}

int64_t SymmetricMemory::BuffersAt() const {
  const int64_t end = kBegunBytes + LaunchMemory::EventBytes(sizes_.event_counters);
  return (end + kAlignment - 1) / kAlignment * kAlignment;
}

void* SymmetricMemory::events(size_t rank) const { return ranks_[rank].data + kBegunBytes; }
void* SymmetricMemory::buffers(size_t rank) const { return ranks_[rank].data + BuffersAt(); }

bool SymmetricMemory::Fits(const SymmetricSizes& needed) const {
  return bytes_ > 0 && needed.event_counters <= sizes_.event_counters &&
         needed.bytes <= sizes_.bytes;
}

Status SymmetricMemory::Grow(const SymmetricSizes& needed) {
  const SymmetricSizes sizes{std::max(sizes_.event_counters, needed.event_counters),
                             std::max(sizes_.bytes, needed.bytes)};
  Release();
  sizes_ = sizes;
  bytes_ = BuffersAt() + sizes_.bytes;
  LogInfo("allocates ", bytes_, " bytes of symmetric memory on each of ", ranks(), " ranks");
  for (Rank& rank : ranks_) {
    void* data = nullptr;
    Status status = rank.backend->Allocate(bytes_, nullptr, &data);
    rank.data = static_cast<char*>(data);
    if (status.Ok()) {
      status = rank.backend->Zero(data, bytes_, nullptr);
    }
    if (!status.Ok()) {
      Release();
      return status;
    }
  }
  for (Rank& own : ranks_) {
    own.distances.clear();
    for (const Rank& rank : ranks_) {
      own.distances.push_back(static_cast<int64_t>(reinterpret_cast<uintptr_t>(rank.data) -
                                                   reinterpret_cast<uintptr_t>(own.data)));
    }
  }
  return {};
}

}  // namespace etc::runtime
