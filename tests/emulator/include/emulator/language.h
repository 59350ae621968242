// CUDA C++ for a host compiler: the words and functions that kernels use without a header.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "emulator/device.h"

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA has these words.
#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)

#define threadIdx (::etc::emulator::place->thread)
#define blockIdx (::etc::emulator::place->block)
#define blockDim (::etc::emulator::place->block_size)
#define gridDim (::etc::emulator::place->grid_size)

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

using std::max;
using std::min;

inline void __syncthreads() { etc::emulator::SyncNamed(0, -1); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { etc::emulator::SyncWarp("__syncwarp", mask); }
inline bool __all_sync(unsigned mask, bool vote) {
  return etc::emulator::Ballot("__all_sync", mask, vote) == mask;
}
inline bool __any_sync(unsigned mask, bool vote) {
  return etc::emulator::Ballot("__any_sync", mask, vote) != 0;
}
inline int __popc(unsigned word) { return std::popcount(word); }
inline unsigned __ballot_sync(unsigned mask, bool vote) {
  return etc::emulator::Ballot("__ballot_sync", mask, vote);
}

namespace etc::emulator {

template <class T>
T ExchangeValue(const char* name, unsigned mask, T value, int source) {
  static_assert(sizeof(T) <= 8);
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  word = Exchange(name, mask, word, source);
  std::memcpy(&value, &word, sizeof(T));
  return value;
}
inline int ThisLane() { return int(place->thread.x % 32); }

}  // namespace etc::emulator

template <class T>
T __shfl_sync(unsigned mask, T value, int source) {
  return etc::emulator::ExchangeValue("__shfl_sync", mask, value, source % 32);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return etc::emulator::ExchangeValue("__shfl_xor_sync", mask, value,
                                      etc::emulator::ThisLane() ^ lanes);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, int lanes) {
  const int lane = etc::emulator::ThisLane();
  return etc::emulator::ExchangeValue("__shfl_down_sync", mask, value,
                                      lane + lanes < 32 ? lane + lanes : lane);
}

inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
  for (int apart = 16; apart > 0; apart /= 2) {
    value = std::max(value, __shfl_xor_sync(mask, value, apart));
  }
  return value;
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value) {
  return ~__reduce_max_sync(mask, ~value);
}

inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __fmul_rn(float a, float b) { return a * b; }
/// Byte i of the result is the one of {high, low} that the i-th hexadecimal digit names.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const uint64_t bytes = uint64_t(high) << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= unsigned(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  }
  return result;
}
// NOLINTEND(bugprone-reserved-identifier)
