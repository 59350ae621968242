// What a profile is made with: clocks, the number of the SM, a place in shared memory, and stores
// that leave caches alone.
#pragma once

#include "arch/common/types.cuh"
#include "arch/sm90/launch.cuh"
#include "arch/sm90/mbarrier.cuh"

namespace etc {

/// Nanoseconds, the same on all SMs, in steps of 32 or 64. The cycles of an SM take no less time to
/// read, and under load the SMs do not agree in their frequency.
ETC_DEVICE u32 Ticks() {
  u32 nanoseconds;
  asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(nanoseconds)::"memory");
  return nanoseconds;
}
/// The same, of which 32 bits wrap around after four seconds.
ETC_DEVICE u64 GlobalTime() {
  u64 nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
  return nanoseconds;
}

ETC_DEVICE u32 SmNumber() {
  u32 number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}

/// Where the last `bytes` of the launch's shared memory begin, at a multiple of 16.
ETC_DEVICE u32 EndOfShared(int bytes) {
  u32 size;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
  return SharedAddress(LaunchSharedMemory()) + ((size - bytes) & ~15u);
}

// Evicted first: nobody reads it before the launch has ended. Orders nothing.
ETC_DEVICE void StoreStreaming(void* address, Vec4 value) {
  asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

ETC_DEVICE void StoreSharedByte(u32 address, u32 value) {
  asm volatile("st.shared.b8 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
ETC_DEVICE u32 LoadSharedByte(u32 address) {
  u32 value;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

/// Some 30 nanoseconds, for a thread that looks again and again.
ETC_DEVICE void Nap() { asm volatile("nanosleep.u32 30;" ::: "memory"); }

}  // namespace etc
