// Emulated: see kernels/arch/clock.cuh.
#pragma once

#include "arch/types.cuh"

namespace etc {

ETC_DEVICE u32 Clock() { return emulator::Clock(); }

}  // namespace etc
