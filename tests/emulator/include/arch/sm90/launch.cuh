// Emulated: see kernels/arch/sm90/launch.cuh. A launch begins when the one before it has ended.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE u32 GridSize() { return gridDim.x; }
ETC_DEVICE char* LaunchSharedMemory() { return emulator::SharedMemory(); }
ETC_DEVICE void AllowNextLaunch() {}
ETC_DEVICE void AwaitEarlierLaunches() {}

}  // namespace etc
