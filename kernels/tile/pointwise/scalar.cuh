// Scalar functions of generated bodies, with the language's semantics; the host target uses them
// too.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

/// For sizes that are known when the text is compiled.
constexpr int LargerOf(int a, int b) { return a < b ? b : a; }
constexpr int SmallerOf(int a, int b) { return a < b ? a : b; }

template <class T>
ETC_DEVICE T Min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
ETC_DEVICE T Max(T a, T b) {
  return a < b ? b : a;
}
template <class T>
ETC_DEVICE T Abs(T a) {
  return a < T(0) ? -a : a + T(0);  // that of -0.0 is 0.0
}

// Integer division rounds towards minus infinity. Sizes and indices fit 32 bits nearly always, and
// there the hardware divides several times faster.
ETC_DEVICE i64 FloorDiv(i64 a, i64 b) {
  if ((u64(a) | u64(b)) >> 32 == 0) {
    return u32(a) / u32(b);
  }
  i64 quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
ETC_DEVICE i64 FloorMod(i64 a, i64 b) { return a - FloorDiv(a, b) * b; }
/// The same for 0 <= a < 2^32 and 0 < b < 2^32: no branch, so it can move out of a loop.
ETC_DEVICE i64 SmallDiv(i64 a, i64 b) { return u32(a) / u32(b); }
ETC_DEVICE i64 SmallMod(i64 a, i64 b) { return u32(a) % u32(b); }
ETC_DEVICE i64 CeilDiv(i64 a, i64 b) { return -FloorDiv(-a, b); }
ETC_DEVICE i64 Align(i64 a, i64 b) { return CeilDiv(a, b) * b; }

// The same for divisors that may be zero or -1, where the machine's division traps or yields
// anything: a quotient by zero is 0, and a remainder the dividend.
ETC_DEVICE i64 TotalFloorDiv(i64 a, i64 b) {
  return b == 0 ? 0 : b == -1 ? i64(0 - u64(a)) : FloorDiv(a, b);
}
ETC_DEVICE i64 TotalFloorMod(i64 a, i64 b) { return b == 0 ? a : b == -1 ? 0 : FloorMod(a, b); }
ETC_DEVICE i64 TotalCeilDiv(i64 a, i64 b) {
  return b == 0 ? 0 : b == -1 ? i64(0 - u64(a)) : CeilDiv(a, b);
}
ETC_DEVICE i64 TotalAlign(i64 a, i64 b) { return TotalCeilDiv(a, b) * b; }

/// Towards zero; the nearest integer of the type for what it does not hold, and 0 for NaN.
template <class T, class F>
ETC_DEVICE i64 SaturatingInt(F value) {
  constexpr bool kSigned = T(-1) < T(0);
  constexpr int kDigits = int(sizeof(T)) * 8 - (kSigned ? 1 : 0);
  constexpr i64 kLargest = i64(~u64(0) >> (64 - kDigits));
  constexpr i64 kLeast = kSigned ? -kLargest - 1 : 0;
  if (!(value == value)) {
    return 0;
  }
  if (value < F(kLeast)) {
    return kLeast;
  }
  return value < F(u64(1) << kDigits) ? i64(value) : kLargest;
}

// A shift by less than 0 or more than 63 places shifts everything out.
ETC_DEVICE i64 ShiftLeft(i64 a, i64 places) { return u64(places) > 63 ? 0 : i64(u64(a) << places); }
ETC_DEVICE i64 ShiftRight(i64 a, i64 places) { return a >> (u64(places) > 63 ? 63 : places); }

/// Where element (row, column) stands among rows x columns elements in tiles: [row / kRows,
/// column / kColumns, row % kRows, column % kColumns]. kSwizzled, of a swizzled tile: the bytes of
/// an element.
template <int kRows, int kColumns, int kSwizzled = 0>
ETC_DEVICE i64 TileOffset(i64 row, i64 column, i64 columns) {
  u64 r = u64(row), c = u64(column);
  u64 place = r % kRows * kColumns + c % kColumns;
  if constexpr (kSwizzled > 0) {
    constexpr u64 last_piece = kColumns * kSwizzled / 16 - 1;
    place ^= (place * kSwizzled >> 7 & last_piece) * (16 / kSwizzled);
  }
  return i64(r / kRows * kRows * u64(columns) + c / kColumns * (kRows * kColumns) + place);
}

ETC_DEVICE float Exp(float a) { return expf(a); }
ETC_DEVICE float Log(float a) { return logf(a); }
ETC_DEVICE float Sqrt(float a) { return sqrtf(a); }
ETC_DEVICE float Rsqrt(float a) { return 1.0f / sqrtf(a); }
ETC_DEVICE float Sin(float a) { return sinf(a); }
ETC_DEVICE float Cos(float a) { return cosf(a); }
ETC_DEVICE float Tanh(float a) { return tanhf(a); }
ETC_DEVICE float Pow(float a, float b) { return powf(a, b); }

ETC_DEVICE float ExpBase2(float a) { return exp2f(a); }
ETC_DEVICE float LogBase2(float a) { return log2f(a); }
ETC_DEVICE float Sigmoid(float a) { return 1.0f / (1.0f + expf(-a)); }
ETC_DEVICE float Erf(float a) { return erff(a); }
ETC_DEVICE float Floor(float a) { return floorf(a); }
ETC_DEVICE float Ceil(float a) { return ceilf(a); }
ETC_DEVICE float Round(float a) { return rintf(a); }

ETC_DEVICE double Exp(double a) { return exp(a); }
ETC_DEVICE double Log(double a) { return log(a); }
ETC_DEVICE double Sqrt(double a) { return sqrt(a); }
ETC_DEVICE double Rsqrt(double a) { return 1.0 / sqrt(a); }
ETC_DEVICE double Sin(double a) { return sin(a); }
ETC_DEVICE double Cos(double a) { return cos(a); }
ETC_DEVICE double Tanh(double a) { return tanh(a); }
ETC_DEVICE double Pow(double a, double b) { return pow(a, b); }
ETC_DEVICE double ExpBase2(double a) { return exp2(a); }
ETC_DEVICE double LogBase2(double a) { return log2(a); }
ETC_DEVICE double Sigmoid(double a) { return 1.0 / (1.0 + exp(-a)); }
ETC_DEVICE double Erf(double a) { return erf(a); }
ETC_DEVICE double Floor(double a) { return floor(a); }
ETC_DEVICE double Ceil(double a) { return ceil(a); }
ETC_DEVICE double Round(double a) { return rint(a); }

/// A float that every narrower type rounds to what it rounds the double to: the one towards zero,
/// with its last bit set where it is not equal.
ETC_DEVICE float OddFloat(double value) {
  float nearest = float(value);
  if (double(nearest) == value || value != value) {
    return nearest;
  }
  u32 bits = FloatToBits(nearest);
  bool away = Abs(double(nearest)) > Abs(value);
  return BitsToFloat((away ? bits - 1 : bits) | 1);
}

/// The same of an integer.
ETC_DEVICE float OddFloat(i64 value) {
  u64 size = value < 0 ? 0 - u64(value) : u64(value);
  float unit = 1;
  while (size >> 24 != 0) {
    size = size >> 1 | (size & 1);
    unit *= 2;
  }
  return (value < 0 ? -unit : unit) * float(u32(size));
}

ETC_DEVICE float Infinity() { return 1.0f / 0.0f; }

/// What a reduction over no element yields: below, or above, every value.
template <class T>
ETC_DEVICE T Lowest();
template <>
ETC_DEVICE float Lowest<float>() {
  return -Infinity();
}
template <>
ETC_DEVICE double Lowest<double>() {
  return -double(Infinity());
}
template <>
ETC_DEVICE i64 Lowest<i64>() {
  return -9223372036854775807LL - 1;
}
template <class T>
ETC_DEVICE T Highest();
template <>
ETC_DEVICE float Highest<float>() {
  return Infinity();
}
template <>
ETC_DEVICE double Highest<double>() {
  return double(Infinity());
}
template <>
ETC_DEVICE i64 Highest<i64>() {
  return 9223372036854775807LL;
}

}  // namespace etc
