// Emulated: see kernels/arch/sm90/memory.cuh.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE u32 LoadAcquire(const u32* address) { return emulator::LoadAcquire(address); }
ETC_DEVICE u32 LoadRelaxed(const u32* address) {
  emulator::CheckGlobal("LoadRelaxed", address, 4);
  return *address;
}
ETC_DEVICE void LoadRelaxedIf(u32& word, const u32* address, bool wanted) {
  if (wanted) {
    word = LoadRelaxed(address);
    emulator::Fetched(address, word == 0);
  }
}
ETC_DEVICE Vec4 LoadGlobal(const void* address) {
  emulator::CheckGlobal("LoadGlobal", address, 16);
  return *static_cast<const Vec4*>(address);
}
ETC_DEVICE void LoadRelaxedIf(Vec4& words, const u32* address, bool wanted) {
  if (wanted) {
    words = LoadGlobal(address);
    emulator::Fetched(address, words.x == 0 || words.y == 0 || words.z == 0 || words.w == 0);
  }
}
ETC_DEVICE Vec4 LoadGlobalIf(const void* address, bool exists) {
  return exists ? LoadGlobal(address) : Vec4{0, 0, 0, 0};
}

ETC_DEVICE void StoreRelaxed(u32* address, u32 word) {
  emulator::CheckGlobal("StoreRelaxed", address, 4);
  *address = word;
  emulator::Progress();
}
ETC_DEVICE void StoreRelaxed(u32* address, u32 first, u32 second) {
  emulator::CheckGlobal("StoreRelaxed", address, 8);
  StoreRelaxed(address, first);
  StoreRelaxed(address + 1, second);
}
ETC_DEVICE void StoreGlobal(void* address, Vec4 value) {
  emulator::CheckGlobal("StoreGlobal", address, 16);
  *static_cast<Vec4*>(address) = value;
  emulator::Progress();
}
// Words validate themselves one by one, so others may run between them.
ETC_DEVICE void StoreRelaxed(u32* address, Vec4 words) {
  emulator::CheckGlobal("StoreRelaxed", address, 16);
  StoreRelaxed(address, words.x, words.y);
  StoreRelaxed(address + 2, words.z, words.w);
}

ETC_DEVICE u32 FetchAddAcquireRelease(u32* address, u32 amount) {
  emulator::CheckGlobal("FetchAddAcquireRelease", address, 4);
  const u32 previous = *address;
  *address += amount;
  emulator::Progress();
  return previous;
}
ETC_DEVICE void AddRelease(u32* address, u32 amount) { FetchAddAcquireRelease(address, amount); }

ETC_DEVICE void PollAgain() { emulator::PollAgain("PollAgain"); }
ETC_DEVICE void PrefetchLine(const void*) {}

namespace emulator {

template <class T>
T LoadSharedAs(u32 address) {
  return *reinterpret_cast<const T*>(Shared("LoadShared", address, sizeof(T)));
}
template <class T>
void StoreSharedAs(u32 address, T value) {
  *reinterpret_cast<T*>(SharedStore("StoreShared", address, sizeof(T))) = value;
}

}  // namespace emulator

ETC_DEVICE Vec4 LoadShared(u32 address) { return emulator::LoadSharedAs<Vec4>(address); }
ETC_DEVICE u32 LoadSharedWord(u32 address) { return emulator::LoadSharedAs<u32>(address); }
ETC_DEVICE Vec4 LoadSharedIf(u32 address, bool exists) {
  return exists ? LoadShared(address) : Vec4{0, 0, 0, 0};
}
template <int count>
ETC_DEVICE void LoadShared(u32 address, float (&values)[count]) {
  static_assert(count == 1 || count == 2 || count == 4);
  std::memcpy(values, emulator::Shared("LoadShared", address, count * 4), count * 4);
}
ETC_DEVICE void StoreShared(u32 address, u32 value) { emulator::StoreSharedAs(address, value); }
ETC_DEVICE void StoreShared(u32 address, Vec4 value) { emulator::StoreSharedAs(address, value); }
ETC_DEVICE void StoreShared(u32 address, float value) { emulator::StoreSharedAs(address, value); }
ETC_DEVICE void StoreShared(u32 address, float value, float next) {
  float* pair = reinterpret_cast<float*>(emulator::SharedStore("StoreShared", address, 8));
  pair[0] = value;
  pair[1] = next;
}

ETC_DEVICE Vec4 LoadMatrices(u32 address) {
  u32 words[4];
  emulator::LoadMatrices(address, words);
  return {words[0], words[1], words[2], words[3]};
}

}  // namespace etc
