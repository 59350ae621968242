#include <doctest/doctest.h>
#include <gmp.h>
#include <isl/ctx.h>

#include <cstddef>
#include <set>
#include <thread>
#include <vector>

namespace etc {
namespace {

extern "C" {
struct Block {
  size_t size;
  mpz_t* numbers;
};
// What the linker has put in the place of isl's functions of blocks, and isl's own of those that
// stay.
Block WrappedAlloc(isl_ctx* ctx, size_t size) asm("__wrap_isl_blk_alloc");
void WrappedFree(isl_ctx* ctx, Block block) asm("__wrap_isl_blk_free");
Block isl_blk_extend(isl_ctx* ctx, Block block, size_t size);
}

/// Writes numbers of one word and of several into all of a block, and reads them again.
void CheckNumbers(const Block& block) {
  for (size_t i = 0; i < block.size; ++i) {
    mpz_ui_pow_ui(block.numbers[i], i + 2, i % 3 == 0 ? 40 : 1);
  }
  mpz_t expected;
  mpz_init(expected);
  for (size_t i = 0; i < block.size; ++i) {
    mpz_ui_pow_ui(expected, i + 2, i % 3 == 0 ? 40 : 1);
    REQUIRE(mpz_cmp(block.numbers[i], expected) == 0);
  }
  mpz_clear(expected);
}

struct Context {
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { isl_ctx_free(isl); }

  isl_ctx* isl = isl_ctx_alloc();
};

TEST_CASE("a block has room for what is asked, whatever was given back before") {
  Context context;
  for (size_t round = 0; round < 2; ++round) {
    for (size_t size = 1; size < 300; ++size) {
      Block block = WrappedAlloc(context.isl, size);
      REQUIRE(block.numbers != nullptr);
      REQUIRE(block.size >= size);
      CheckNumbers(block);
      WrappedFree(context.isl, block);
    }
  }
}

TEST_CASE("blocks that are taken at once are apart") {
  Context context;
  std::vector<Block> blocks;
  std::set<mpz_t*> places;
  for (size_t size = 1; size < 100; ++size) {
    blocks.push_back(WrappedAlloc(context.isl, size));
    blocks.push_back(WrappedAlloc(context.isl, size));
  }
  for (const Block& block : blocks) {
    places.insert(block.numbers);
    CheckNumbers(block);
  }
  CHECK(places.size() == blocks.size());
  for (const Block& block : blocks) {
    WrappedFree(context.isl, block);
  }
}

TEST_CASE("isl may extend a block and give it back, and a block may be huge or empty") {
  Context context;
  for (size_t size : {1, 3, 5, 63, 64, 65, 1000, 100'000}) {
    Block block = isl_blk_extend(context.isl, WrappedAlloc(context.isl, 1), size);
    REQUIRE(block.size >= size);
    CheckNumbers(block);
    WrappedFree(context.isl, block);
    Block again = WrappedAlloc(context.isl, size);
    REQUIRE(again.size >= size);
    CheckNumbers(again);
    WrappedFree(context.isl, again);
  }
  Block none = WrappedAlloc(context.isl, 0);
  CHECK(none.size == 0);
  WrappedFree(context.isl, none);
}

TEST_CASE("a block may be given back on another thread, which may end") {
  Context context;
  Block block = WrappedAlloc(context.isl, 20);
  CheckNumbers(block);
  std::thread([&] {
    WrappedFree(context.isl, block);
    Block other = WrappedAlloc(context.isl, 20);
    CheckNumbers(other);
    WrappedFree(context.isl, other);
  }).join();
  Block mine = WrappedAlloc(context.isl, 20);
  CheckNumbers(mine);
  WrappedFree(context.isl, mine);
}

}  // namespace
}  // namespace etc
