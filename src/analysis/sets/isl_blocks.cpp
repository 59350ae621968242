// isl takes the numbers of a set in a block, and looks for a free one among the last twenty that it
// gave back. Where isl is linked as an archive, the linker brings these calls here (`--wrap`, see
// CMakeLists.txt): each thread keeps free blocks by their size, and their numbers keep their words.
// Which blocks it has depends on what it did before, so that nothing here is a step of a budget.
#include <gmp.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "support/sanitized.h"

namespace etc {
namespace {

/// isl's own type: numbers, all of them initialised.
struct Block {
  size_t size;
  mpz_t* numbers;
};

/// Sizes stand four to a power of two: class `4 * k + s` has blocks of (4 + s) * 2^k numbers.
constexpr size_t kClasses = 48;
/// A thread keeps so many numbers of all classes, which are two megabytes with their words.
constexpr size_t kMostKept = size_t{1} << 16U;

constexpr size_t SizeOf(size_t size_class) { return (4 + size_class % 4) << (size_class / 4); }

/// The class of the largest blocks that have no more numbers than these, of which there are four at
/// least.
constexpr size_t ClassBelow(size_t size) {
  auto shift = static_cast<size_t>(std::bit_width(size)) - 3;
  return 4 * shift + (size >> shift) - 4;
}

/// The class of the smallest blocks that have so many numbers.
constexpr size_t ClassAbove(size_t size) {
  if (size <= 4) {
    return 0;
  }
  size_t below = ClassBelow(size);
  return SizeOf(below) == size ? below : below + 1;
}

class FreeBlocks {
 public:
  static FreeBlocks& OfThread() {
    static thread_local FreeBlocks blocks;
    return blocks;
  }

  FreeBlocks() = default;
  FreeBlocks(const FreeBlocks&) = delete;
  FreeBlocks& operator=(const FreeBlocks&) = delete;
  ~FreeBlocks() {
    for (const std::vector<Block>& blocks : blocks_) {
      for (const Block& block : blocks) {
        Discard(block);
      }
    }
  }

  Block Take(size_t size) {
    size_t size_class = ClassAbove(size);
    if (size_class >= kClasses) {
      return New(size);
    }
    std::vector<Block>& blocks = blocks_[size_class];
    if (blocks.empty()) {
      return New(SizeOf(size_class));
    }
    Block block = blocks.back();
    blocks.pop_back();
    kept_ -= block.size;
    return block;
  }

  void Give(const Block& block) {
    size_t size_class = block.size < 4 ? kClasses : ClassBelow(block.size);
    if (size_class >= kClasses || kept_ + block.size > kMostKept) {
      Discard(block);
      return;
    }
    blocks_[size_class].push_back(block);
    kept_ += block.size;
  }

 private:
  /// Null, as isl has it of a block without memory, where there is none.
  static Block New(size_t size) {
    auto* numbers = static_cast<mpz_t*>(std::malloc(size * sizeof(mpz_t)));
    if (numbers == nullptr) {
      return {static_cast<size_t>(-1), nullptr};
    }
    for (size_t i = 0; i < size; ++i) {
      mpz_init(numbers[i]);
    }
    return {size, numbers};
  }

  static void Discard(const Block& block) {
    for (size_t i = 0; i < block.size; ++i) {
      mpz_clear(block.numbers[i]);
    }
    std::free(block.numbers);
  }

  std::array<std::vector<Block>, kClasses> blocks_;
  size_t kept_ = 0;
};

}  // namespace
}  // namespace etc

extern "C" {

etc::Block Real_blk_alloc(void* ctx, size_t size) asm("__real_isl_blk_alloc");
etc::Block Wrap_blk_alloc(void* ctx, size_t size) asm("__wrap_isl_blk_alloc");
etc::Block Wrap_blk_alloc(void* ctx, size_t size) {
  if (etc::kIsSanitized || size == 0) {
    return Real_blk_alloc(ctx, size);
  }
  return etc::FreeBlocks::OfThread().Take(size);
}

void Real_blk_free(void* ctx, etc::Block block) asm("__real_isl_blk_free");
void Wrap_blk_free(void* ctx, etc::Block block) asm("__wrap_isl_blk_free");
void Wrap_blk_free(void* ctx, etc::Block block) {
  if (etc::kIsSanitized || block.numbers == nullptr) {
    Real_blk_free(ctx, block);
    return;
  }
  etc::FreeBlocks::OfThread().Give(block);
}

}  // extern "C"
