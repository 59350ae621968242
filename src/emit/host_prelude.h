// What generated C++ for the host target stands on: the types of kernels/arch/common/types.cuh, and
// the roles and events of kernels/tile for one thread per SM. Nothing here needs the C++ runtime:
// an artifact is linked with libc and libm only. Nor is there an inline variable, which would keep
// the shared object in the process for good.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>

#define ETC_DEVICE inline
#define ETC_ENTRY extern "C" __attribute__((visibility("default")))
#ifndef ETC_MEETING  // a test may put delays where threads are about to meet
#define ETC_MEETING()
#endif
#ifndef ETC_LAUNCH  // and may see where a thread begins and ends its part of a launch
#define ETC_LAUNCH(events)
#endif

namespace etc {

using u8 = unsigned char;
using i8 = signed char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
using f64 = double;

struct bf16 {
  u16 bits;
};
struct f16 {
  u16 bits;
};
struct f8e4m3 {
  u8 bits;
};
struct f8e5m2 {
  u8 bits;
};

inline float BitsToFloat(u32 bits) { return std::bit_cast<float>(bits); }
inline u32 FloatToBits(float value) { return std::bit_cast<u32>(value); }

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

inline float ToFloat(f8e4m3 value) {
  int exponent = value.bits >> 3 & 15, fraction = value.bits & 7;
  float magnitude = (value.bits & 0x7f) == 0x7f ? NAN
                    : exponent == 0             ? float(fraction) * 0x1p-9f
                                                : std::ldexp(float(fraction | 8), exponent - 10);
  return std::copysign(magnitude, (value.bits & 0x80) != 0 ? -1.0f : 1.0f);
}
/// The upper half of the f16 with the same value.
inline float ToFloat(f8e5m2 value) { return ToFloat(f16{u16(value.bits << 8)}); }

/// Rounds to nearest, ties to even; to 8 bits, the largest finite value for what is larger.
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
  return {u16(sign | (((bits + 0xfff + (bits >> 13 & 1)) >> 13) - (112 << 10)))};
}

/// The bits of a float of 8 bits, of which `kFraction` are the fraction, by its least exponent and
/// its largest finite value: that is what a larger one becomes.
template <int kFraction>
inline u8 F8OfFloat(float value, int least_exponent, u8 largest) {
  if (std::isnan(value)) {
    return 0x7f;
  }
  u8 sign = std::signbit(value) ? 0x80 : 0;
  float magnitude = std::fabs(value);
  if (magnitude >= 65536.0f) {
    return sign | largest;
  }
  int exponent = magnitude == 0 ? least_exponent : std::ilogb(magnitude);
  exponent = exponent < least_exponent ? least_exponent : exponent;
  // In units of the last place; a carry out of the fraction moves on to the next exponent.
  int units = int(std::nearbyint(std::ldexp(magnitude, kFraction - exponent)));
  int bits = (exponent - least_exponent) * (1 << kFraction) + units;
  return u8(sign | (bits < largest ? bits : largest));
}
template <>
inline f8e4m3 FromFloat<f8e4m3>(float value) {
  return {F8OfFloat<3>(value, -6, 0x7e)};
}
template <>
inline f8e5m2 FromFloat<f8e5m2>(float value) {
  return {F8OfFloat<2>(value, -14, 0x7b)};
}

/// As std::atomic_ref, whose header takes as long to compile as a small program.
template <class T>
class AtomicRef {
 public:
  explicit AtomicRef(T& value) : value_(&value) {}
  T load(int order = __ATOMIC_SEQ_CST) const { return __atomic_load_n(value_, order); }
  void store(T value, int order = __ATOMIC_SEQ_CST) const {
    __atomic_store_n(value_, value, order);
  }
  T exchange(T value, int order = __ATOMIC_SEQ_CST) const {
    return __atomic_exchange_n(value_, value, order);
  }
  T fetch_add(T amount, int order = __ATOMIC_SEQ_CST) const {
    return __atomic_fetch_add(value_, amount, order);
  }
  T fetch_sub(T amount, int order = __ATOMIC_SEQ_CST) const {
    return __atomic_fetch_sub(value_, amount, order);
  }
  /// With a copy of what is there in `expected` where that is something else.
  bool compare_exchange_weak(T& expected, T value, int order) const {
    return __atomic_compare_exchange_n(value_, &expected, value, true, order, __ATOMIC_RELAXED);
  }

 private:
  T* value_;
};

/// The elements of a local that is too large for the stack of a thread.
template <class T>
class HeapArray {
 public:
  explicit HeapArray(i64 count) : elements_(new T[count]) {}
  HeapArray(const HeapArray&) = delete;
  HeapArray& operator=(const HeapArray&) = delete;
  ~HeapArray() { delete[] elements_; }
  T* get() const { return elements_; }

 private:
  T* const elements_;
};

inline u32 LoadAcquire(const u32* address) {
  return AtomicRef<u32>(const_cast<u32&>(*address)).load(__ATOMIC_ACQUIRE);
}
inline u32 FetchAddAcquireRelease(u32* address, u32 amount) {
  return AtomicRef<u32>(*address).fetch_add(amount, __ATOMIC_ACQ_REL);
}
inline void AddRelease(u32* address, u32 amount) {
  AtomicRef<u32>(*address).fetch_add(amount, __ATOMIC_RELEASE);
}
inline u64 LoadRelaxed(const u64* address) {
  return AtomicRef<u64>(const_cast<u64&>(*address)).load(__ATOMIC_RELAXED);
}
inline void MaxRelaxed(u64* address, u64 value) {
  AtomicRef<u64> word(*address);
  u64 seen = word.load(__ATOMIC_RELAXED);
  while (seen < value && !word.compare_exchange_weak(seen, value, __ATOMIC_RELAXED)) {
  }
}
/// Sleeps until the word is another one. Whoever stores that wakes all. The word may be in memory
/// that processes share.
inline void AwaitChange(u32* address, u32 seen) {
  while (LoadAcquire(address) == seen) {
    syscall(SYS_futex, address, FUTEX_WAIT, seen, nullptr, nullptr, 0);
  }
}
inline void WakeAll(u32* address) {
  syscall(SYS_futex, address, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}
inline u64 Nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return u64(now.tv_sec) * 1000000000 + u64(now.tv_nsec);
}
inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// The one thread of an SM.
struct Consumer {
  int thread = 0;
  void Sync() {}
};

/// The cores that the process may use; 1 where there are too many to say.
static const int kCores = [] {
  cpu_set_t usable;
  return sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
}();

/// The current set of counters; the runtime zeroes event memory before each launch.
struct Events {
  static constexpr int kStride = 32;
  u32* counters;
  u32* sleepers;  // how many threads sleep: the last word of the header
  u32 sms;
  int looks;                 // before a thread sleeps
  u32* computing = nullptr;  // of a mesh with a watchdog: computing_threads

  /// A thread that waits for one which has no core must give it its own.
  Events(void* memory, int sms)
      : counters(static_cast<u32*>(memory) + kStride),
        sleepers(counters - 1),
        sms(static_cast<u32>(sms)),
        looks(sms <= kCores ? 1024 : 16) {}

  u32* Header() const { return counters - kStride; }

  void WaitOne(const Consumer&, i64 index, u32 count) const {
    Wait(&counters[index * kStride], count, nullptr, [] { return false; });
  }
  /// In debug builds, of an event that may never be complete once a check has failed, which wakes
  /// nobody.
  template <class Checks>
  void WaitOne(const Consumer&, const Checks& checks, i64 index, u32 count) const {
    constexpr timespec kMillisecond{0, 1000000};
    Wait(&counters[index * kStride], count, &kMillisecond, [&] { return checks.Failed(); });
  }
  void NotifyOne(const Consumer&, i64 index, u32 amount) const {
    ETC_MEETING();
    u32* counter = &counters[index * kStride];
    AtomicRef<u32>(*counter).fetch_add(amount);
    WakeSleepers(counter);
  }
  void NotifyReleased(const Consumer& consumer, i64 index, u32 amount) const {
    NotifyOne(consumer, index, amount);
  }
  /// Either a sleeper sees what was stored before it sleeps, or it is seen here: all agree on one
  /// sequence of these two accesses and the sleeper's two.
  void WakeSleepers(u32* word) const {
    if (AtomicRef<u32>(*sleepers).load() != 0) {
      WakeAll(word);
    }
  }

  /// Sleeps unless the counter has changed, until its next notify or for so long.
  void SleepWhile(u32* counter, u32 seen, const timespec* longest) const {
    AtomicRef<u32>(*sleepers).fetch_add(1);
    syscall(SYS_futex, counter, FUTEX_WAIT, seen, longest, nullptr, 0);
    AtomicRef<u32>(*sleepers).fetch_sub(1);
  }

  /// Until the counter has this count, or `leave` says so.
  template <class Leave>
  void Wait(u32* counter, u32 count, const timespec* longest, Leave leave) const {
    ETC_MEETING();
    int looked = 0;
    for (u32 seen; (seen = LoadAcquire(counter)) < count && !leave();) {
      if (looked < looks) {
        ++looked;
        Pause();
      } else {
        SleepWhile(counter, seen, longest);
      }
    }
  }
};

/// The walk of kernels/engine/task_ranges.cuh, by one thread.
template <class Number, class TasksAt>
struct TaskRanges {
  TasksAt tasks_at;
  i64 value;
  Number tasks = 0;
  Number first = 0, last = 0;

  TaskRanges(i64 lo, i64 hi, TasksAt count) : tasks_at(count), value(lo - 1) {
    for (i64 i = lo; i < hi; ++i) {
      tasks += Number(tasks_at(i));
    }
  }
  i64 Find(i64 task) {
    while (task >= last) {
      first = last;
      last += Number(tasks_at(++value));
    }
    return value;
  }
};

}  // namespace etc
