// Loads and stores whose width, order or scope matters.
#pragma once

#include "arch/common/types.cuh"

// The scope of words that are data and flag at once: that of the system where peers store them.
#ifndef ETC_WORD_SCOPE
#define ETC_WORD_SCOPE "gpu"
#endif

namespace etc {

// Acquire at GPU scope: reads that follow see what was written before the release that stored the
// value.
ETC_DEVICE u32 LoadAcquire(const u32* address) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

// Relaxed at GPU scope: never from a stale line of L1, orders nothing.
ETC_DEVICE u32 LoadRelaxed(const u32* address) {
  u32 value;
  asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

// Relaxed at the scope of words, where `wanted`, without a branch; else the words stay as they are.
// Volatile, so that many stay in flight.
ETC_DEVICE void LoadRelaxedIf(u32& word, const u32* address, bool wanted) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %2, 0;\n"
      "@p ld.relaxed." ETC_WORD_SCOPE
      ".global.b32 %0, [%1];\n"
      "}"
      : "+r"(word)
      : "l"(address), "r"(u32(wanted))
      : "memory");
}
ETC_DEVICE void LoadRelaxedIf(Vec4& words, const u32* address, bool wanted) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %5, 0;\n"
      "@p ld.relaxed." ETC_WORD_SCOPE
      ".global.v4.b32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "+r"(words.x), "+r"(words.y), "+r"(words.z), "+r"(words.w)
      : "l"(address), "r"(u32(wanted))
      : "memory");
}

// Relaxed at the scope of words.
ETC_DEVICE void StoreRelaxed(u32* address, u32 word) {
  asm volatile("st.relaxed." ETC_WORD_SCOPE ".global.b32 [%0], %1;" ::"l"(address), "r"(word)
               : "memory");
}
ETC_DEVICE void StoreRelaxed(u32* address, u32 first, u32 second) {
  asm volatile("st.relaxed." ETC_WORD_SCOPE ".global.v2.b32 [%0], {%1, %2};" ::"l"(address),
               "r"(first), "r"(second)
               : "memory");
}
ETC_DEVICE void StoreRelaxed(u32* address, Vec4 words) {
  asm volatile("st.relaxed." ETC_WORD_SCOPE ".global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address),
               "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w)
               : "memory");
}

// Release at GPU scope; after a barrier of the CTA it covers the writes of every thread in it.
ETC_DEVICE void AddRelease(u32* address, u32 amount) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(address), "r"(amount) : "memory");
}

// Acquire and release at GPU scope: the last to arrive sees what all the others did.
ETC_DEVICE u32 FetchAddAcquireRelease(u32* address, u32 amount) {
  u32 previous;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(previous)
               : "l"(address), "r"(amount)
               : "memory");
  return previous;
}

// Between two looks at a word that another CTA will change: here the load itself takes its time.
ETC_DEVICE void PollAgain() {}

// Weak: ordered by the barrier that follows the wait for the data. Volatile, so that several of
// them stay in flight in the order in which they were written down.
ETC_DEVICE Vec4 LoadGlobal(const void* address) {
  Vec4 value;
  asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(address)
               : "memory");
  return value;
}

// The same where `exists`, zeros elsewhere; without a branch.
ETC_DEVICE Vec4 LoadGlobalIf(const void* address, bool exists) {
  Vec4 value;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %5, 0;\n"
      "mov.b32 %0, 0;\n"
      "mov.b32 %1, 0;\n"
      "mov.b32 %2, 0;\n"
      "mov.b32 %3, 0;\n"
      "@p ld.global.v4.b32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "=&r"(value.x), "=&r"(value.y), "=&r"(value.z), "=&r"(value.w)
      : "l"(address), "r"(u32(exists))
      : "memory");
  return value;
}

// A hint: brings a line of 128 bytes into L2.
ETC_DEVICE void PrefetchLine(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

ETC_DEVICE void StoreGlobal(void* address, Vec4 value) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

// Volatile, so that several of them stay in flight in the order in which they were written down.
ETC_DEVICE Vec4 LoadShared(u32 address) {
  Vec4 value;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(address)
               : "memory");
  return value;
}

ETC_DEVICE u32 LoadSharedWord(u32 address) {
  u32 value;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

ETC_DEVICE void StoreShared(u32 address, u32 value) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

ETC_DEVICE void StoreShared(u32 address, Vec4 value) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

// Four 8 x 8 matrices of 16-bit elements, whose rows of 16 bytes may lie anywhere: lane 8i + j
// gives the address of row j of matrix i, and gets of each matrix the columns 2 (lane % 4) and the
// next of row lane / 4. Volatile, like LoadShared.
ETC_DEVICE Vec4 LoadMatrices(u32 address) {
  Vec4 value;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(address)
               : "memory");
  return value;
}

// LoadShared where `exists`, zeros elsewhere; without a branch.
ETC_DEVICE Vec4 LoadSharedIf(u32 address, bool exists) {
  Vec4 value;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %5, 0;\n"
      "mov.b32 %0, 0;\n"
      "mov.b32 %1, 0;\n"
      "mov.b32 %2, 0;\n"
      "mov.b32 %3, 0;\n"
      "@p ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "=&r"(value.x), "=&r"(value.y), "=&r"(value.z), "=&r"(value.w)
      : "r"(address), "r"(u32(exists))
      : "memory");
  return value;
}

// Neighbouring floats, aligned to all of them.
ETC_DEVICE void LoadShared(u32 address, float (&values)[1]) {
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(values[0]) : "r"(address) : "memory");
}
ETC_DEVICE void LoadShared(u32 address, float (&values)[2]) {
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(values[0]), "=f"(values[1])
               : "r"(address)
               : "memory");
}
ETC_DEVICE void LoadShared(u32 address, float (&values)[4]) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
               : "r"(address)
               : "memory");
}
ETC_DEVICE void StoreShared(u32 address, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}
ETC_DEVICE void StoreShared(u32 address, float value, float next) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(value), "f"(next) : "memory");
}

}  // namespace etc
