// Emulated: see kernels/arch/sm90/clock.cuh.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE u32 Clock() { return emulator::Clock(); }

}  // namespace etc
