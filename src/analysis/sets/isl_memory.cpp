#include "analysis/sets/isl_memory.h"

#include <gmp.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

namespace etc {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

struct Block {
  Block* next;
  void* rest;
};
constexpr size_t kBlockBytes = sizeof(Block);
constexpr size_t kBlocksAtOnce = 1024;

/// The free blocks of this thread.
constinit thread_local Block* free_blocks = nullptr;

/// The free blocks of threads that have ended.
struct Abandoned {
  std::mutex mutex;
  Block* blocks = nullptr;

  static Abandoned& Get() {
    static Abandoned* const abandoned = new Abandoned;  // outlives all threads
    return *abandoned;
  }
};

/// Leaves the thread's free blocks to others when it ends.
struct Leaver {
  ~Leaver() {
    Block* last = free_blocks;
    while (last != nullptr && last->next != nullptr) {
      last = last->next;
    }
    if (last != nullptr) {
      Abandoned& abandoned = Abandoned::Get();
      const std::lock_guard lock(abandoned.mutex);
      last->next = abandoned.blocks;
      abandoned.blocks = std::exchange(free_blocks, nullptr);
    }
  }
};

[[gnu::noinline]] void Refill() {
  static thread_local Leaver leaver;
  Abandoned& abandoned = Abandoned::Get();
  {
    const std::lock_guard lock(abandoned.mutex);
    free_blocks = std::exchange(abandoned.blocks, nullptr);
  }
  if (free_blocks == nullptr) {
    auto* blocks = static_cast<Block*>(std::malloc(kBlocksAtOnce * kBlockBytes));
    if (blocks == nullptr) {
      throw std::bad_alloc();
    }
    for (size_t i = 0; i < kBlocksAtOnce; ++i) {
      blocks[i].next = i + 1 < kBlocksAtOnce ? &blocks[i + 1] : nullptr;
    }
    free_blocks = blocks;
  }
}

void* Take(size_t bytes) {
  if (bytes > kBlockBytes) {
    void* memory = std::malloc(bytes);
    if (memory == nullptr) {
      throw std::bad_alloc();
    }
    return memory;
  }
  if (free_blocks == nullptr) {
    Refill();
  }
  Block* block = free_blocks;
  free_blocks = block->next;
  return block;
}

/// Whoever took the memory.
void Give(void* memory, size_t bytes) {
  if (bytes > kBlockBytes) {
    std::free(memory);
    return;
  }
  auto* block = static_cast<Block*>(memory);
  block->next = free_blocks;
  free_blocks = block;
}

void* Resize(void* memory, size_t before, size_t after) {
  if (before <= kBlockBytes && after <= kBlockBytes) {
    return memory;
  }
  void* resized = Take(after);
  std::memcpy(resized, memory, std::min(before, after));
  Give(memory, before);
  return resized;
}

}  // namespace

void UseBlocksForNumbers() {
  if constexpr (!kIsSanitized) {
    static const bool once = [] {
      mp_set_memory_functions(Take, Resize, Give);
      return true;
    }();
    (void)once;
  }
}

}  // namespace etc
