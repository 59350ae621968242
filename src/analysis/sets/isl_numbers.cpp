// isl computes by GMP, for numbers of any size, and nearly all of its numbers have one word. Where
// isl is linked as an archive, the linker brings here what it calls of GMP for each of them
// (`--wrap`, see CMakeLists.txt): numbers of one word are computed in place, and GMP has the
// others.
#include "analysis/sets/isl_numbers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <numeric>
#include <utility>

#include "analysis/sets/small_numbers.h"
#include "support/sanitized.h"

namespace etc {
namespace {

struct Block {
  Block* next;
  Block* next_list;  // of the first of a list that is abandoned
};
constexpr size_t kBlockBytes = sizeof(Block);
constexpr size_t kBlocksAtOnce = 1024;

/// The free blocks of this thread.
constinit thread_local Block* free_blocks = nullptr;

/// The free blocks of threads that have ended, a list of each: to join two lists takes a walk over
/// one of them.
struct Abandoned {
  std::mutex mutex;
  Block* lists = nullptr;

  static Abandoned& Get() {
    static Abandoned* const abandoned = new Abandoned;  // outlives all threads
    return *abandoned;
  }
};

/// Leaves the thread's free blocks to others when it ends.
struct Leaver {
  ~Leaver() {
    if (free_blocks != nullptr) {
      Abandoned& abandoned = Abandoned::Get();
      const std::lock_guard lock(abandoned.mutex);
      free_blocks->next_list = abandoned.lists;
      abandoned.lists = std::exchange(free_blocks, nullptr);
    }
  }
};

[[gnu::noinline]] void Refill() {
  static thread_local Leaver leaver;
  Abandoned& abandoned = Abandoned::Get();
  {
    const std::lock_guard lock(abandoned.mutex);
    free_blocks = abandoned.lists;
    if (free_blocks != nullptr) {
      abandoned.lists = free_blocks->next_list;
      return;
    }
  }
  auto* blocks = static_cast<Block*>(std::malloc(kBlocksAtOnce * kBlockBytes));
  if (blocks == nullptr) {
    throw std::bad_alloc();
  }
  for (size_t i = 0; i < kBlocksAtOnce; ++i) {
    blocks[i].next = i + 1 < kBlocksAtOnce ? &blocks[i + 1] : nullptr;
  }
  free_blocks = blocks;
}

void* TakeBlock() {
  if (free_blocks == nullptr) [[unlikely]] {
    Refill();
  }
  Block* block = free_blocks;
  free_blocks = block->next;
  return block;
}

void* Take(size_t bytes) {
  if (bytes > kBlockBytes) {
    void* memory = std::malloc(bytes);
    if (memory == nullptr) {
      throw std::bad_alloc();
    }
    return memory;
  }
  return TakeBlock();
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

void GiveWord(mpz_ptr to) {
  if constexpr (kIsSanitized) {
    _mpz_realloc(to, 1);
  } else {
    to->_mp_d = static_cast<mp_limb_t*>(TakeBlock());
    to->_mp_alloc = 1;
  }
}

// Where isl is linked as an archive.
#ifdef ETC_SMALL_NUMBERS

namespace {

using Number = mpz_ptr;
using Given = mpz_srcptr;

/// Of two magnitudes with their signs. False where it takes more than a word.
bool PutSum(Number to, int sign_a, mp_limb_t a, int sign_b, mp_limb_t b) {
  if (sign_a == 0 || sign_b == 0) {
    sign_a == 0 ? PutWord(to, sign_b, b) : PutWord(to, sign_a, a);
    return true;
  }
  if (sign_a == sign_b) {
    mp_limb_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) {
      return false;
    }
    PutWord(to, sign_a, sum);
    return true;
  }
  if (a == b) {
    to->_mp_size = 0;
  } else if (a > b) {
    PutWord(to, sign_a, a - b);
  } else {
    PutWord(to, sign_b, b - a);
  }
  return true;
}

/// Adds a product of numbers that are not 0, with this sign. False where anything takes more than a
/// word.
bool AddProduct(Number to, Given a, Given b, int sign) {
  if (!IsSmall(to) || !AreSmall(a, b)) {
    return false;
  }
  sign *= a->_mp_size * b->_mp_size;
  mp_limb_t product = 0;
  return !__builtin_mul_overflow(*a->_mp_d, *b->_mp_d, &product) &&
         PutSum(to, to->_mp_size, MagnitudeOf(to), sign, product);
}

/// Sets a number that has no memory yet to one of one word.
[[gnu::noinline]] void PutFirst(Number to, Given a) { PutWord(to, a->_mp_size, *a->_mp_d); }

mp_limb_t Magnitude(long value) {
  return value < 0 ? -static_cast<mp_limb_t>(value) : static_cast<mp_limb_t>(value);
}

int Compare(mp_limb_t a, mp_limb_t b) { return a < b ? -1 : a > b ? 1 : 0; }

}  // namespace

extern "C" {

// The linker has isl call `__wrap_F` for a function F of GMP, and calls F itself `__real_F`.
#define ETC_OF_GMP(result, name, parameters)                 \
  result Real_##name parameters asm("__real___gmpz_" #name); \
  result Wrap_##name parameters asm("__wrap___gmpz_" #name); \
  result Wrap_##name parameters

// The commonest cases of the commonest calls come first, and call nothing.

ETC_OF_GMP(void, set, (Number to, Given a)) {
  if (a->_mp_size == 0) {
    to->_mp_size = 0;
  } else if (!IsSmall(a)) [[unlikely]] {
    Real_set(to, a);
  } else if (to->_mp_alloc != 0) [[likely]] {
    *to->_mp_d = *a->_mp_d;
    to->_mp_size = a->_mp_size;
  } else {
    PutFirst(to, a);
  }
}

ETC_OF_GMP(void, set_si, (Number to, long a)) {
  if (a == 0) {
    to->_mp_size = 0;
  } else {
    PutWord(to, a < 0 ? -1 : 1, Magnitude(a));
  }
}

ETC_OF_GMP(void, swap, (Number a, Number b)) { std::swap(*a, *b); }

ETC_OF_GMP(void, add, (Number to, Given a, Given b)) {
  if (!AreSmall(a, b) || !PutSum(to, a->_mp_size, MagnitudeOf(a), b->_mp_size, MagnitudeOf(b))) {
    Real_add(to, a, b);
  }
}

ETC_OF_GMP(void, sub, (Number to, Given a, Given b)) {
  if (!AreSmall(a, b) || !PutSum(to, a->_mp_size, MagnitudeOf(a), -b->_mp_size, MagnitudeOf(b))) {
    Real_sub(to, a, b);
  }
}

ETC_OF_GMP(void, mul, (Number to, Given a, Given b)) {
  mp_limb_t product = 0;
  if (a->_mp_size == 0 || b->_mp_size == 0) {
    to->_mp_size = 0;
  } else if (to->_mp_alloc != 0 && AreSmall(a, b) &&
             !__builtin_mul_overflow(*a->_mp_d, *b->_mp_d, &product)) [[likely]] {
    to->_mp_size = a->_mp_size * b->_mp_size;
    *to->_mp_d = product;
  } else {
    Real_mul(to, a, b);
  }
}

ETC_OF_GMP(void, addmul, (Number to, Given a, Given b)) {
  if (a->_mp_size == 0 || b->_mp_size == 0) {
    return;
  }
  if (!AddProduct(to, a, b, 1)) {
    Real_addmul(to, a, b);
  }
}

ETC_OF_GMP(void, submul, (Number to, Given a, Given b)) {
  if (a->_mp_size == 0 || b->_mp_size == 0) {
    return;
  }
  if (!AddProduct(to, a, b, -1)) {
    Real_submul(to, a, b);
  }
}

ETC_OF_GMP(void, divexact, (Number to, Given a, Given b)) {
  if (!AreSmall(a, b) || b->_mp_size == 0) {
    Real_divexact(to, a, b);
  } else if (a->_mp_size == 0) {
    to->_mp_size = 0;
  } else {
    PutWord(to, a->_mp_size * b->_mp_size, *a->_mp_d / *b->_mp_d);
  }
}

ETC_OF_GMP(int, cmp, (Given a, Given b)) {
  if (!AreSmall(a, b)) {
    return Real_cmp(a, b);
  }
  if (a->_mp_size != b->_mp_size) {
    return a->_mp_size - b->_mp_size;
  }
  return a->_mp_size * Compare(MagnitudeOf(a), MagnitudeOf(b));
}

ETC_OF_GMP(int, cmp_si, (Given a, long b)) {
  int sign = b < 0 ? -1 : b > 0 ? 1 : 0;
  if (!IsSmall(a) || a->_mp_size != sign) {
    return a->_mp_size - sign;
  }
  return sign * Compare(MagnitudeOf(a), Magnitude(b));
}

ETC_OF_GMP(int, cmp_ui, (Given a, unsigned long b)) {
  int sign = b > 0 ? 1 : 0;
  if (!IsSmall(a) || a->_mp_size != sign) {
    return a->_mp_size - sign;
  }
  return Compare(MagnitudeOf(a), b);
}

ETC_OF_GMP(int, cmpabs, (Given a, Given b)) {
  return AreSmall(a, b) ? Compare(MagnitudeOf(a), MagnitudeOf(b)) : Real_cmpabs(a, b);
}

ETC_OF_GMP(int, divisible_p, (Given a, Given b)) {
  if (!AreSmall(a, b) || b->_mp_size == 0) {
    return Real_divisible_p(a, b);
  }
  return MagnitudeOf(a) % *b->_mp_d == 0 ? 1 : 0;
}

ETC_OF_GMP(void, gcd, (Number to, Given a, Given b)) {
  if (!AreSmall(a, b)) {
    Real_gcd(to, a, b);
    return;
  }
  mp_limb_t divisor = std::gcd(MagnitudeOf(a), MagnitudeOf(b));
  PutWord(to, divisor == 0 ? 0 : 1, divisor);
}

ETC_OF_GMP(void, lcm, (Number to, Given a, Given b)) {
  mp_limb_t multiple = 0;
  if (!AreSmall(a, b)) {
    Real_lcm(to, a, b);
  } else if (a->_mp_size == 0 || b->_mp_size == 0) {
    to->_mp_size = 0;
  } else if (*b->_mp_d == 1) {
    PutWord(to, 1, *a->_mp_d);
  } else if (!__builtin_mul_overflow(*a->_mp_d / std::gcd(*a->_mp_d, *b->_mp_d), *b->_mp_d,
                                     &multiple)) {
    PutWord(to, 1, multiple);
  } else {
    Real_lcm(to, a, b);
  }
}

}  // extern "C"

#undef ETC_OF_GMP

#endif

}  // namespace etc
