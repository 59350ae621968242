// Scalar functions of generated bodies, with the language's semantics; the host target uses them
// too.
#pragma once

#include "arch/types.cuh"

namespace etc {

/// For sizes that are known when the text is compiled.
constexpr int LargerOf(int a, int b) { return a < b ? b : a; }

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
  return a < T(0) ? -a : a;
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

ETC_DEVICE float Infinity() { return 1.0f / 0.0f; }

/// What a reduction over no element yields: below, or above, every value.
template <class T>
ETC_DEVICE T Lowest();
template <>
ETC_DEVICE float Lowest<float>() {
  return -Infinity();
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
ETC_DEVICE i64 Highest<i64>() {
  return 9223372036854775807LL;
}

}  // namespace etc
