// isl keeps a constraint as a row of numbers, most of which are 0 and nearly all of the others
// small. What it does to whole rows is done here without a call for each number. Where isl is
// linked as an archive, the linker brings these calls here (`--wrap`, see CMakeLists.txt). Each
// does what isl's own function of that name does.
#include <gmp.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

#include "analysis/sets/small_numbers.h"

namespace etc {
namespace {

/// isl's numbers are GMP's, and a row has them one behind the other.
using Row = mpz_t*;

using Wide = __int128;

/// False where it takes more than a word.
bool PutWide(mpz_ptr to, Wide value) {
  if (value > UINT64_MAX || value < -static_cast<Wide>(UINT64_MAX)) {
    return false;
  }
  if (value == 0) {
    to->_mp_size = 0;
  } else {
    PutWord(to, value < 0 ? -1 : 1, static_cast<mp_limb_t>(value < 0 ? -value : value));
  }
  return true;
}

/// Factors of a combination of rows.
struct Factors {
  int64_t first;
  int64_t second;
};

/// Puts a combination of two numbers; false where a number or the sum takes too much.
bool PutCombination(mpz_ptr to, Factors factors, mpz_srcptr a, mpz_srcptr b) {
  int64_t x = 0, y = 0, first = 0, second = 0;
  if (!ToWord(a, x) || !ToWord(b, y)) {
    return false;
  }
  int64_t sum = 0;
  if (!__builtin_mul_overflow(factors.first, x, &first) &&
      !__builtin_mul_overflow(factors.second, y, &second) &&
      !__builtin_add_overflow(first, second, &sum)) [[likely]] {
    PutWord(to,
            sum < 0   ? -1
            : sum > 0 ? 1
                      : 0,
            sum < 0 ? -static_cast<mp_limb_t>(sum) : static_cast<mp_limb_t>(sum));
    return true;
  }
  return PutWide(to, static_cast<Wide>(factors.first) * x + static_cast<Wide>(factors.second) * y);
}

/// The greatest common divisor of the magnitudes, 0 of zeros alone; nothing where a number takes
/// more than a word.
std::optional<mp_limb_t> DivisorOf(Row row, unsigned length) {
  mp_limb_t divisor = 0;
  for (unsigned i = 0; i < length; ++i) {
    mpz_srcptr number = row[i];
    if (number->_mp_size == 0) {
      continue;
    }
    if (!IsSmall(number)) {
      return std::nullopt;
    }
    divisor = *number->_mp_d == 1 ? 1 : std::gcd(divisor, *number->_mp_d);
    if (divisor == 1) {
      break;
    }
  }
  return divisor;
}

bool AreEqual(mpz_srcptr a, mpz_srcptr b) {
  if (a->_mp_size != b->_mp_size) {
    return false;
  }
  return a->_mp_size == 0 || (IsSmall(a) ? *a->_mp_d == *b->_mp_d : mpz_cmp(a, b) == 0);
}

}  // namespace
}  // namespace etc

extern "C" {

// The linker has isl call `__wrap_F` for a function F, and calls F itself `__real_F`.
#define ETC_OF_ISL(result, name, parameters)              \
  result Real_##name parameters asm("__real_isl_" #name); \
  result Wrap_##name parameters asm("__wrap_isl_" #name); \
  result Wrap_##name parameters

ETC_OF_ISL(void, seq_clr, (mpz_t * row, unsigned length)) {
  for (unsigned i = 0; i < length; ++i) {
    row[i]->_mp_size = 0;
  }
}

ETC_OF_ISL(void, seq_cpy, (mpz_t * to, mpz_t* row, unsigned length)) {
  for (unsigned i = 0; i < length; ++i) {
    etc::CopyNumber(to[i], row[i]);
  }
}

ETC_OF_ISL(void, seq_neg, (mpz_t * to, mpz_t* row, unsigned length)) {
  if (to != row) {
    Wrap_seq_cpy(to, row, length);
  }
  for (unsigned i = 0; i < length; ++i) {
    to[i]->_mp_size = -to[i]->_mp_size;
  }
}

ETC_OF_ISL(int, seq_eq, (mpz_t * a, mpz_t* b, unsigned length)) {
  for (unsigned i = 0; i < length; ++i) {
    if (!etc::AreEqual(a[i], b[i])) {
      return 0;
    }
  }
  return 1;
}

ETC_OF_ISL(void, seq_combine,
           (mpz_t * to, mpz_t m1, mpz_t* a, mpz_t m2, mpz_t* b, unsigned length)) {
  auto stands_in = [&](mpz_t factor) { return factor >= to[0] && factor < to[length]; };
  etc::Factors factors{};
  if (!etc::ToWord(m1, factors.first) || !etc::ToWord(m2, factors.second) || stands_in(m1) ||
      stands_in(m2)) {
    Real_seq_combine(to, m1, a, m2, b, length);
    return;
  }
  for (unsigned i = 0; i < length; ++i) {
    if (a[i]->_mp_size == 0 && b[i]->_mp_size == 0) {
      to[i]->_mp_size = 0;
    } else if (!etc::PutCombination(to[i], factors, a[i], b[i])) {
      Real_seq_combine(to + i, m1, a + i, m2, b + i, 1);
    }
  }
}

ETC_OF_ISL(void, seq_inner_product, (mpz_t * a, mpz_t* b, unsigned length, mpz_t* product)) {
  etc::Wide sum = 0;
  bool fits = true;
  for (unsigned i = 0; fits && i < length; ++i) {
    int64_t x = 0, y = 0;
    if (a[i]->_mp_size != 0 && b[i]->_mp_size != 0) {
      fits = etc::ToWord(a[i], x) && etc::ToWord(b[i], y) &&
             !__builtin_add_overflow(sum, static_cast<etc::Wide>(x) * y, &sum);
    }
  }
  if (!fits || !etc::PutWide(*product, sum)) {
    Real_seq_inner_product(a, b, length, product);
  }
}

ETC_OF_ISL(void, seq_gcd, (mpz_t * row, unsigned length, mpz_t* divisor)) {
  if (auto found = etc::DivisorOf(row, length)) {
    etc::PutWord(*divisor, *found == 0 ? 0 : 1, *found);
  } else {
    Real_seq_gcd(row, length, divisor);
  }
}

ETC_OF_ISL(void, seq_normalize, (void* ctx, mpz_t* row, unsigned length)) {
  auto divisor = etc::DivisorOf(row, length);
  if (!divisor) {
    Real_seq_normalize(ctx, row, length);
    return;
  }
  for (unsigned i = 0; *divisor > 1 && i < length; ++i) {
    if (row[i]->_mp_size != 0) {
      *row[i]->_mp_d /= *divisor;
    }
  }
}

/// Of the numbers that are not 0, for tables of rows: equal rows have equal ones.
ETC_OF_ISL(uint32_t, seq_get_hash_bits, (mpz_t * row, unsigned length, unsigned bits)) {
  uint64_t hash = 0;
  for (unsigned i = 0; i < length; ++i) {
    int size = row[i]->_mp_size;
    if (size != 0) {
      uint64_t number =
          *row[i]->_mp_d + (static_cast<uint64_t>(i) << 32U) + (size < 0 ? 1U << 31U : 0);
      hash = (hash ^ number) * 0x9E3779B97F4A7C15U;
    }
  }
  return bits == 0 ? 0 : static_cast<uint32_t>(hash >> (64 - bits));
}

#undef ETC_OF_ISL

}  // extern "C"
