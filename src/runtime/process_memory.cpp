// Memory of ranks that have a process each: each exports its own and imports that of all others.
#include <algorithm>

#include "runtime/log.h"
#include "runtime/peer_memory.h"
#include "runtime/wire.h"

namespace etc::runtime {
namespace {

class ProcessMemory : public PeerMemory {
 public:
  ProcessMemory(Backend& backend, Rendezvous& others)
      : PeerMemory(others.ranks(), {{others.rank(), &backend}}),
        backend_(backend),
        others_(others),
        own_(others.rank()) {}
  /// Others may not end at the same time, or may be gone, so nobody waits for them for long: memory
  /// that some process may still reach stays until this one ends.
  ~ProcessMemory() override {
    constexpr std::chrono::milliseconds kPatience{1000};
    (void)backend_.Drain();
    for (const Memory& memory : allocated_) {
      Close(memory);
    }
    if (others_.Leave(kPatience)) {
      for (const Memory& memory : allocated_) {
        FreeOwn(memory);
      }
    } else if (!allocated_.empty()) {
      LogInfo("keeps symmetric memory that other ranks have not left yet");
    }
  }

  Status Drain() override { return Meet(OfRank(own_, backend_.Drain())); }
  Status Meet(Status own) override { return MeetOthers(others_, own); }

  Status Allocate(int64_t bytes, std::vector<char*>* places) override {
    Memory memory{std::vector<char*>(ranks()), bytes};
    std::vector<std::string> handles;
    ETC_RETURN_IF_BAD(Export(&memory, &handles));
    Status status = Meet(OfRank(own_, Import(handles, &memory)));
    *places = memory.places;
    allocated_.push_back(std::move(memory));
    if (!status.Ok()) {
      Free(*places);
    }
    return status;
  }

  void Free(const std::vector<char*>& places) override {
    const auto at = std::find_if(allocated_.begin(), allocated_.end(),
                                 [&](const Memory& memory) { return memory.places == places; });
    Close(*at);
    at->is_closed = true;
    if (Meet({}).Ok()) {  // all have closed theirs
      FreeOwn(*at);
      allocated_.erase(at);
    }
  }

 private:
  struct Memory {
    std::vector<char*> places;
    int64_t bytes;
    bool is_closed = false;
  };

  Status Export(Memory* memory, std::vector<std::string>* handles) {
    void* data = nullptr;
    std::string handle;
    WireWriter writer;
    const Status own = OfRank(own_, backend_.Export(memory->bytes, &data, &handle));
    memory->places[own_] = static_cast<char*>(data);
    writer.Outcome(own);
    writer.Text(handle);
    std::vector<std::string> all;
    Status status = others_.Exchange(writer.Take(), &all);
    for (size_t rank = 0; rank < ranks() && status.Ok(); ++rank) {
      WireReader reader(all[rank]);
      status = reader.Outcome();
      handles->push_back(reader.Text());
      status = status.Ok() ? reader.CheckWhole() : std::move(status);
    }
    if (!status.Ok()) {
      FreeOwn(*memory);
    }
    return status;
  }

  Status Import(const std::vector<std::string>& handles, Memory* memory) {
    for (size_t rank = 0; rank < ranks(); ++rank) {
      if (rank == own_) {
        continue;
      }
      void* data = nullptr;
      if (Status status = backend_.Import(handles[rank], memory->bytes, &data); !status.Ok()) {
        return Fail(status.code, "cannot reach the memory of rank ", rank, ": ", status.message);
      }
      memory->places[rank] = static_cast<char*>(data);
    }
    return {};
  }

  void Close(const Memory& memory) {
    for (size_t rank = 0; rank < ranks() && !memory.is_closed; ++rank) {
      if (rank != own_ && memory.places[rank] != nullptr) {
        backend_.CloseImported(memory.places[rank], memory.bytes);
      }
    }
  }

  void FreeOwn(const Memory& memory) {
    if (memory.places[own_] != nullptr) {
      backend_.FreeExported(memory.places[own_], memory.bytes);
    }
  }

  Backend& backend_;
  Rendezvous& others_;
  const size_t own_;
  std::vector<Memory> allocated_;
};

}  // namespace

Status MeetOthers(Rendezvous& others, const Status& own) {
  WireWriter writer;
  writer.Outcome(own);
  std::vector<std::string> all;
  ETC_RETURN_IF_BAD(others.Exchange(writer.Take(), &all));
  for (const std::string& one : all) {
    WireReader reader(one);
    ETC_RETURN_IF_BAD(reader.Outcome());
    ETC_RETURN_IF_BAD(reader.CheckWhole());
  }
  return {};
}

std::unique_ptr<PeerMemory> MakeProcessMemory(Backend& backend, Rendezvous& others) {
  return std::make_unique<ProcessMemory>(backend, others);
}

}  // namespace etc::runtime
