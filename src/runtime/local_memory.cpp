// Memory of the ranks of one process.
#include <algorithm>

#include "runtime/peer_memory.h"

namespace etc::runtime {
namespace {

std::vector<PeerMemory::Local> LocalsOf(const std::vector<Backend*>& backends) {
  std::vector<PeerMemory::Local> locals;
  for (Backend* backend : backends) {
    locals.push_back({locals.size(), backend});
  }
  return locals;
}

class LocalMemory : public PeerMemory {
 public:
  explicit LocalMemory(const std::vector<Backend*>& backends)
      : PeerMemory(backends.size(), LocalsOf(backends)) {}
  /// A peer may still be on its way into the memory of one that has ended.
  ~LocalMemory() override {
    (void)Drain();
    while (!allocated_.empty()) {
      Free(std::vector<char*>(allocated_.back().places));
    }
  }

  Status Drain() override {
    Status status;
    for (const Local& local : locals()) {
      Status drained = OfRank(local.rank, local.backend->Drain());
      status = status.Ok() ? std::move(drained) : std::move(status);
    }
    return status;
  }
  Status Meet(Status own) override { return own; }

  Status Allocate(int64_t bytes, std::vector<char*>* places) override {
    places->assign(ranks(), nullptr);
    Status status;
    for (size_t rank = 0; rank < ranks() && status.Ok(); ++rank) {
      void* data = nullptr;
      status = OfRank(rank, locals()[rank].backend->AllocateShared(bytes, &data));
      (*places)[rank] = static_cast<char*>(data);
    }
    allocated_.push_back({*places, bytes});
    if (!status.Ok()) {
      Free(*places);
    }
    return status;
  }

  void Free(const std::vector<char*>& places) override {
    const auto at = std::find_if(allocated_.begin(), allocated_.end(),
                                 [&](const Memory& memory) { return memory.places == places; });
    for (size_t rank = 0; rank < ranks(); ++rank) {
      if (at->places[rank] != nullptr) {
        locals()[rank].backend->FreeShared(at->places[rank], at->bytes);
      }
    }
    allocated_.erase(at);
  }

 private:
  struct Memory {
    std::vector<char*> places;
    int64_t bytes;
  };
  std::vector<Memory> allocated_;
};

}  // namespace

Status OfRank(size_t rank, Status status) {
  return status.Ok() ? status : Fail(status.code, "rank ", rank, ": ", status.message);
}

std::unique_ptr<PeerMemory> MakeLocalMemory(const std::vector<Backend*>& backends) {
  return std::make_unique<LocalMemory>(backends);
}

}  // namespace etc::runtime
