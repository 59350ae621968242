// Emulated: see kernels/arch/sm90/registers.cuh.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

template <int count>
ETC_DEVICE void GiveRegisters() {
  emulator::SetRegisters(count);
}
template <int count>
ETC_DEVICE void TakeRegisters() {
  emulator::SetRegisters(count);
}
template <class Word>
ETC_DEVICE Word Opaque(Word value) {
  return value;
}
ETC_DEVICE void Pin(float&) {}
ETC_DEVICE void Pin(u32&) {}

}  // namespace etc
