// How a CTA's warps divide its registers.
#pragma once

#include "arch/types.cuh"

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

}  // namespace etc
