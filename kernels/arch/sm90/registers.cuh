// How a CTA's warps divide its registers, and what may not stay in them.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

// For whole groups of four warps. A group that takes waits until others have given.
template <int count>
ETC_DEVICE void GiveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
ETC_DEVICE void TakeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

/// The same value, which the compiler may not see through: what is made of it is made here, each
/// time, and not ahead of a loop, where it would take registers for all of it.
template <class Word>
ETC_DEVICE Word Opaque(Word value) {
  asm volatile("" : "+r"(value));
  return value;
}

/// What is made of the register's value is made behind what stands before in the text, and the
/// value itself is made before what follows.
ETC_DEVICE void Pin(float& value) { asm volatile("" : "+f"(value)::"memory"); }
ETC_DEVICE void Pin(u32& value) { asm volatile("" : "+r"(value)::"memory"); }

}  // namespace etc
