// What generated C++ for the host target stands on: the types of kernels/arch/types.cuh, and the
// roles and events of kernels/tile for one thread per SM.
#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#define ETC_DEVICE inline

namespace etc {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;

struct bf16 {
  u16 bits;
};
struct f16 {
  u16 bits;
};

inline float ToFloat(float value) { return value; }
inline float ToFloat(bf16 value) { return std::bit_cast<float>(u32(value.bits) << 16); }
inline float ToFloat(f16 value) {
  u32 sign = u32(value.bits & 0x8000) << 16, exponent = value.bits >> 10 & 31,
      fraction = value.bits & 0x3ff;
  if (exponent == 31) {
    return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  }
  if (exponent == 0) {
    float magnitude = float(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

/// Rounds to nearest, ties to even.
template <class T>
inline T FromFloat(float value);
template <>
inline float FromFloat<float>(float value) {
  return value;
}
template <>
inline bf16 FromFloat<bf16>(float value) {
  u32 bits = std::bit_cast<u32>(value);
  if (std::isnan(value)) {
    return {0x7fff};
  }
  return {u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
template <>
inline f16 FromFloat<f16>(float value) {
  u16 sign = std::bit_cast<u32>(value) >> 16 & 0x8000;
  float magnitude = std::fabs(value);
  if (std::isnan(value)) {
    return {0x7fff};
  }
  if (magnitude >= 65520.0f) {
    return {u16(sign | 0x7c00)};
  }
  if (magnitude < 0x1p-14f) {
    return {u16(sign | u16(std::nearbyint(magnitude * 0x1p24f)))};
  }
  u32 bits = std::bit_cast<u32>(magnitude);
  return {u16(sign | ((bits + 0xfff + (bits >> 13 & 1)) >> 13) - (112 << 10))};
}

/// Random delays where threads meet, so that they meet in other orders: a test aid, seeded by the
/// environment variable ETC_INTERLEAVE and off without it.
class Interleaving {
 public:
  static void Point() {
    static const char* const seed = std::getenv("ETC_INTERLEAVE");
    if (seed != nullptr) {
      static std::atomic<u64> threads{std::strtoull(seed, nullptr, 10) << 32};
      static thread_local u64 state = 0;
      // Threads are new in each launch but for one, which goes on where it left off.
      if (state == 0) {
        state = (threads.fetch_add(1, std::memory_order_relaxed) + 1) * 0x9e3779b97f4a7c15;
      }
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      Delay(state >> 32);
    }
  }

 private:
  /// Nothing, a yield, or up to a tenth of a millisecond.
  static void Delay(u64 random) {
    if (random % 16 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random / 16 % 100));
    } else if (random % 4 == 0) {
      std::this_thread::yield();
    }
  }
};

inline u32 LoadAcquire(const u32* address) {
  return std::atomic_ref<u32>(const_cast<u32&>(*address)).load(std::memory_order_acquire);
}
inline u32 FetchAddAcquireRelease(u32* address, u32 amount) {
  return std::atomic_ref<u32>(*address).fetch_add(amount, std::memory_order_acq_rel);
}
inline void AddRelease(u32* address, u32 amount) {
  std::atomic_ref<u32>(*address).fetch_add(amount, std::memory_order_release);
}
inline void PollAgain() { std::this_thread::yield(); }

/// The one thread of an SM.
struct Consumer {
  int thread = 0;
  void Sync() {}
};

/// The current set of counters; the runtime zeroes event memory before each launch.
struct Events {
  static constexpr int kStride = 32;
  u32* counters;

  explicit Events(void* memory) : counters(static_cast<u32*>(memory) + kStride) {}

  void WaitOne(const Consumer&, i64 index, u32 count) const {
    Interleaving::Point();
    std::atomic_ref<u32> counter(counters[index * kStride]);
    while (counter.load(std::memory_order_acquire) < count) {
      std::this_thread::yield();
    }
  }
  /// In debug builds, of an event that may never be complete once a check has failed.
  template <class Checks>
  void WaitOne(const Consumer&, const Checks& checks, i64 index, u32 count) const {
    Interleaving::Point();
    while (LoadAcquire(&counters[index * kStride]) < count && !checks.Failed()) {
      std::this_thread::yield();
    }
  }
  void NotifyOne(const Consumer&, i64 index, u32 amount) const {
    Interleaving::Point();
    std::atomic_ref<u32>(counters[index * kStride]).fetch_add(amount, std::memory_order_release);
  }
};

}  // namespace etc
