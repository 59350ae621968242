// Integer arithmetic of the language on 64-bit values: nothing where the result does not fit.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace etc {

inline std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

inline std::optional<int64_t> CheckedSub(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

inline std::optional<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

/// Rounds towards minus infinity.
inline std::optional<int64_t> CheckedFloorDiv(int64_t a, int64_t b) {
  if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) {
    return std::nullopt;
  }
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/// Has the sign of the divisor.
inline std::optional<int64_t> CheckedFloorMod(int64_t a, int64_t b) {
  if (b == 0) {
    return std::nullopt;
  }
  if (b == -1) {
    return 0;
  }
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// Rounds towards plus infinity.
inline std::optional<int64_t> CheckedCeilDiv(int64_t a, int64_t b) {
  if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) {
    return std::nullopt;
  }
  return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
}

/// Nothing for less than 0 or more than 63 places, either.
inline std::optional<int64_t> CheckedShiftLeft(int64_t a, int64_t places) {
  if (places < 0 || places > 63) {
    return std::nullopt;
  }
  auto shifted = static_cast<int64_t>(static_cast<uint64_t>(a) << places);
  return shifted >> places == a ? std::optional(shifted) : std::nullopt;
}

/// Keeps the sign: the quotient by a power of two, rounded towards minus infinity.
inline std::optional<int64_t> CheckedShiftRight(int64_t a, int64_t places) {
  return places < 0 || places > 63 ? std::nullopt : std::optional(a >> places);
}

/// The least multiple of `b` that is not below `a`.
inline std::optional<int64_t> CheckedAlign(int64_t a, int64_t b) {
  std::optional<int64_t> quotient = CheckedCeilDiv(a, b);
  return quotient ? CheckedMul(*quotient, b) : std::nullopt;
}

/// Towards zero; the nearest of lo .. hi for what lies outside, and 0 for NaN.
inline int64_t SaturatingInt(double value, int64_t lo, int64_t hi) {
  if (value != value) {
    return 0;
  }
  // Neither `lo` nor one above `hi` loses bits: they are powers of two.
  return value < static_cast<double>(lo)        ? lo
         : value >= static_cast<double>(hi) + 1 ? hi
                                                : static_cast<int64_t>(value);
}

}  // namespace etc
