// Numbers of GMP that take one word at most, as nearly all of isl's do.
#pragma once

#include <gmp.h>

#include <cstdint>

namespace etc {

/// Gives a number that has no memory yet (as `mpz_init` leaves it) a word.
void GiveWord(mpz_ptr to);

/// Whether the number takes one word at most: its size is that of its magnitude in words, and
/// negative where the number is.
inline bool IsSmall(mpz_srcptr a) { return static_cast<unsigned>(a->_mp_size) + 1U <= 2U; }
inline bool AreSmall(mpz_srcptr a, mpz_srcptr b) { return IsSmall(a) && IsSmall(b); }
inline mp_limb_t MagnitudeOf(mpz_srcptr a) { return a->_mp_size == 0 ? 0 : *a->_mp_d; }

/// The value where its magnitude has 63 bits at most, so that a sum of two products fits into two
/// words; false where it has more.
inline bool ToWord(mpz_srcptr number, int64_t& value) {
  if (number->_mp_size == 0) {
    value = 0;
    return true;
  }
  if (!IsSmall(number) || *number->_mp_d > INT64_MAX) {
    return false;
  }
  auto magnitude = static_cast<int64_t>(*number->_mp_d);
  value = number->_mp_size < 0 ? -magnitude : magnitude;
  return true;
}

/// A magnitude that is 0 where the sign is.
inline void PutWord(mpz_ptr to, int sign, mp_limb_t magnitude) {
  if (to->_mp_alloc == 0) [[unlikely]] {
    GiveWord(to);
  }
  *to->_mp_d = magnitude;
  to->_mp_size = sign;
}

inline void CopyNumber(mpz_ptr to, mpz_srcptr a) {
  if (a->_mp_size == 0) {
    to->_mp_size = 0;
  } else if (IsSmall(a)) {
    PutWord(to, a->_mp_size, *a->_mp_d);
  } else {
    mpz_set(to, a);
  }
}

}  // namespace etc
