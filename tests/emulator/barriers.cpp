// Shared memory, its barriers, and copies into it.
#include <algorithm>
#include <cstring>

#include "machine.h"

namespace etc::emulator {
namespace {

Block& CurrentBlock() { return machine->current().warp.block; }

Barrier& At(const char* name, uint32_t address) {
  Shared(name, address, 8);
  return CurrentBlock().barriers[address / 8];
}

Barrier& Initialised(const char* name, uint32_t address) {
  Barrier& barrier = At(name, address);
  if (!barrier.valid) {
    Fail("%s at %u, where no barrier was initialised", name, address);
  }
  return barrier;
}

void CompletePhase(Barrier& barrier) {
  if (barrier.pending == 0 && barrier.bytes == 0) {
    ++barrier.phase;
    barrier.pending = barrier.expected;
    for (Lane* lane : barrier.waiting) {
      machine->Wake(*lane);
    }
    barrier.waiting.clear();
  }
}

bool IsPast(const Barrier& barrier, uint32_t parity) { return (barrier.phase & 1) != parity; }

void MarkWritten(Lane& lane, uint32_t address, int bytes) {
  std::vector<uint16_t>& writers = lane.warp.block.writers;
  for (uint32_t granule = address / kGranule; granule * kGranule < address + uint32_t(bytes);
       ++granule) {
    if (writers[granule] != lane.place.thread.x + 1) {
      writers[granule] = uint16_t(lane.place.thread.x + 1);
      lane.unfenced.push_back(granule);
    }
  }
}

void LandPiece(Lane& lane, const Piece& piece) {
  char* to = Shared("CopyPiece", piece.shared, 16);
  if (piece.global != nullptr) {
    std::memcpy(to, piece.global, 16);
  } else {
    std::memset(to, 0, 16);
  }
  MarkWritten(lane, piece.shared, 16);
}

}  // namespace

char* SharedMemory() { return CurrentBlock().shared; }
uint32_t SharedBytes() { return uint32_t(CurrentBlock().shared_bytes); }

uint32_t SharedAddress(const void* pointer) {
  const Block& block = CurrentBlock();
  const auto* byte = static_cast<const char*>(pointer);
  if (byte < block.shared || byte > block.shared + block.shared_bytes) {
    Fail("SharedAddress of %p, which is not in its shared memory", pointer);
  }
  return kSharedBase + uint32_t(byte - block.shared);
}

char* Shared(const char* name, uint32_t address, int bytes) {
  const Block& block = CurrentBlock();
  if (address < kSharedBase ||
      address + uint32_t(bytes) > kSharedBase + uint32_t(block.shared_bytes)) {
    Fail("%s of %d bytes at %u, which is outside of shared memory", name, bytes, address);
  }
  if (address % uint32_t(bytes < 16 ? bytes : 16) != 0) {
    Fail("%s of %d bytes at %u, which is not aligned", name, bytes, address);
  }
  return block.shared + (address - kSharedBase);
}

char* SharedStore(const char* name, uint32_t address, int bytes) {
  char* memory = Shared(name, address, bytes);
  for (uint32_t word = address / 8; word * 8 < address + uint32_t(bytes); ++word) {
    if (CurrentBlock().barriers[word].valid) {
      Fail("%s of %d bytes at %u, where a barrier is", name, bytes, address);
    }
  }
  MarkWritten(machine->current(), address, bytes);
  machine->Preempt();
  return memory;
}

void BarrierInit(uint32_t address, int arrivals) {
  At("BarrierInit", address) = {true, arrivals, arrivals, 0, 0, {}};
}

void BarrierInvalidate(uint32_t address) {
  Barrier& barrier = Initialised("BarrierInvalidate", address);
  if (barrier.bytes != 0 || barrier.pending != barrier.expected || !barrier.waiting.empty()) {
    Fail("BarrierInvalidate at %u, whose phase %u is not over", address, barrier.phase);
  }
  barrier.valid = false;
}

void BarrierArrive(uint32_t address, int expected_bytes) {
  Barrier& barrier = Initialised("BarrierArrive", address);
  if (barrier.pending == 0) {
    Fail("BarrierArrive at %u, where all %d arrivals of phase %u are there", address,
         barrier.expected, barrier.phase);
  }
  barrier.bytes += expected_bytes;
  --barrier.pending;
  CompletePhase(barrier);
  Progress();
}

void BarrierWait(uint32_t address, uint32_t parity) {
  Barrier& barrier = Initialised("BarrierWait", address);
  while (!IsPast(barrier, parity)) {
    barrier.waiting.push_back(&machine->current());
    machine->Suspend({"BarrierWait", address, parity, true});
  }
}

bool BarrierTest(uint32_t address, uint32_t parity) {
  return IsPast(Initialised("BarrierTest", address), parity);
}

void SyncNamed(int id, int threads) {
  Lane& lane = machine->current();
  Block& block = lane.warp.block;
  NamedBarrier& barrier = block.named[id];
  const int all = threads < 0 ? int(block.warps.size()) * 32 : threads;
  if (!barrier.waiting.empty() && barrier.threads != all) {
    Fail("is at barrier %d of %d threads, where others are at %d of %d", id, all, id,
         barrier.threads);
  }
  barrier.threads = all;
  if (int(barrier.waiting.size()) + 1 < all) {
    barrier.waiting.push_back(&lane);
    machine->Suspend({"a named barrier", uint32_t(id)});
    return;
  }
  for (Lane* other : barrier.waiting) {
    machine->Wake(*other);
  }
  barrier.waiting.clear();
}

namespace {

struct BulkOperands {
  uint32_t shared;
  const void* global;
  int bytes;
  uint32_t barrier;
  bool operator==(const BulkOperands&) const = default;
};

/// Those of a warp, of which all lanes must have the same.
BulkOperands BulkOf(const char* name, void* const* lanes) {
  const BulkOperands operands = *static_cast<const BulkOperands*>(lanes[0]);
  for (int lane = 1; lane < 32; ++lane) {
    if (*static_cast<const BulkOperands*>(lanes[lane]) != operands) {
      Fail("%s with other operands in lane %d than in lane 0", name, lane);
    }
  }
  if (operands.bytes <= 0 || operands.bytes % 16 != 0 ||
      reinterpret_cast<uintptr_t>(operands.global) % 16 != 0) {
    Fail("%s of %d bytes from %p, which are no multiples of 16", name, operands.bytes,
         operands.global);
  }
  return operands;
}

}  // namespace

void BulkCopy(uint32_t shared, const void* global, int bytes, uint32_t barrier) {
  BulkOperands mine{shared, global, bytes, barrier};
  MeetWarp("BulkCopyElected", 0xffffffffU, &mine, [](void* const* lanes, uint32_t) {
    const BulkOperands operands = BulkOf("BulkCopyElected", lanes);
    Initialised("BulkCopyElected", operands.barrier);
    std::memset(Shared("BulkCopyElected", operands.shared, operands.bytes), 0xff,
                size_t(operands.bytes));
    machine->transfers.push_back(
        {&CurrentBlock(), operands.barrier, {{operands.shared, operands.global, operands.bytes}}});
  });
}

/// Reads the bytes, so that a sanitizer sees those that are none.
void BulkPrefetch(const void* global, int bytes) {
  BulkOperands mine{0, global, bytes, 0};
  MeetWarp("BulkPrefetchElected", 0xffffffffU, &mine, [](void* const* lanes, uint32_t) {
    const BulkOperands operands = BulkOf("BulkPrefetchElected", lanes);
    for (int i = 0; i < operands.bytes; ++i) {
      static_cast<const volatile char*>(operands.global)[i];
    }
  });
}

namespace {

/// The pieces of 16 bytes of a box, each where its swizzle puts it, if its rows have one.
std::vector<BulkRun> RunsOf(const TiledMap& map, uint32_t shared, const int (&first)[3]) {
  std::vector<BulkRun> runs;
  const int64_t row_bytes = int64_t(map.box[0]) * map.element_bytes;
  const uint32_t mask = row_bytes > 128 ? 0 : uint32_t(row_bytes / 16 - 1);
  for (int64_t row = 0; row < map.box[1]; ++row) {
    for (int64_t at = 0; at < row_bytes; at += 16) {
      const uint32_t place = shared + uint32_t(row * row_bytes + at);
      const uint32_t swizzled = place ^ ((place >> 7 & mask) << 4);
      const int64_t left = (map.shape[0] - first[0]) * map.element_bytes - at;
      const bool exists = left > 0 && first[1] + row < map.shape[1] && first[2] < map.shape[2];
      const char* from = static_cast<const char*>(map.data) +
                         int64_t(first[0]) * map.element_bytes + at +
                         (first[1] + row) * map.strides[0] + first[2] * map.strides[1];
      const int bytes = exists ? int(std::min<int64_t>(left, 16)) : 0;
      if (bytes > 0) {
        runs.push_back({swizzled, from, bytes});
      }
      if (bytes < 16) {
        runs.push_back({swizzled + uint32_t(bytes), nullptr, 16 - bytes});
      }
    }
  }
  return runs;
}

}  // namespace

void TensorCopy(uint32_t shared, const void* map, int column, int row, int slice,
                uint32_t barrier) {
  struct Operands {
    uint32_t shared;
    TiledMap map;  // each thread has its own copy of the launch block
    int first[3];
    uint32_t barrier;
    bool operator==(const Operands&) const = default;
  } mine{shared, *static_cast<const TiledMap*>(map), {column, row, slice}, barrier};
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0 || shared % 1024 != 0) {
    Fail("TensorCopyElected by a map at %p to %u, which are no multiples of 64 and 1024", map,
         shared);
  }
  MeetWarp("TensorCopyElected", 0xffffffffU, &mine, [](void* const* lanes, uint32_t) {
    const Operands operands = *static_cast<const Operands*>(lanes[0]);
    for (int lane = 1; lane < 32; ++lane) {
      if (*static_cast<const Operands*>(lanes[lane]) != operands) {
        Fail("TensorCopyElected with other operands in lane %d than in lane 0", lane);
      }
    }
    const TiledMap& tiled = operands.map;
    const int bytes = int(tiled.box[0] * tiled.box[1]) * tiled.element_bytes;
    Initialised("TensorCopyElected", operands.barrier);
    std::memset(Shared("TensorCopyElected", operands.shared, bytes), 0xff, size_t(bytes));
    machine->transfers.push_back(
        {&CurrentBlock(), operands.barrier, RunsOf(tiled, operands.shared, operands.first)});
  });
}

void Land(const BulkTransfer& transfer) {
  Barrier& barrier = transfer.block->barriers[transfer.barrier / 8];
  for (const BulkRun& run : transfer.runs) {
    char* to = transfer.block->shared + (run.shared - kSharedBase);
    if (run.global != nullptr) {
      std::memcpy(to, run.global, size_t(run.bytes));
    } else {
      std::memset(to, 0, size_t(run.bytes));
    }
    barrier.bytes -= run.bytes;
  }
  machine->Progress();
  CompletePhase(barrier);
}

void CopyPiece(uint32_t shared, const void* global, bool exists) {
  Lane& lane = machine->current();
  if (exists) {
    CheckGlobal("CopyPiece", global, 16);
  }
  std::memset(Shared("CopyPiece", shared, 16), 0xff, 16);
  lane.pieces.push_back({shared, exists ? global : nullptr});
  ++lane.open_pieces;
}

void CopyCommit() {
  Lane& lane = machine->current();
  lane.groups.push_back(lane.open_pieces);
  lane.open_pieces = 0;
}

void CopyWait(int pending) {
  Lane& lane = machine->current();
  size_t landed = 0;
  const size_t groups = lane.groups.size() - std::min(lane.groups.size(), size_t(pending));
  for (size_t group = 0; group < groups; ++group) {
    for (size_t i = 0; i < lane.groups[group]; ++i) {
      LandPiece(lane, lane.pieces[landed++]);
    }
  }
  lane.groups.erase(lane.groups.begin(), lane.groups.begin() + std::ptrdiff_t(groups));
  lane.pieces.erase(lane.pieces.begin(), lane.pieces.begin() + std::ptrdiff_t(landed));
}

void WgmmaSharedFence() {
  Lane& lane = machine->current();
  std::vector<uint16_t>& writers = lane.warp.block.writers;
  for (uint32_t granule : lane.unfenced) {
    if (writers[granule] == lane.place.thread.x + 1) {
      writers[granule] = 0;
    }
  }
  lane.unfenced.clear();
}

}  // namespace etc::emulator
