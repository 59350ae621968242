// Emulated: see kernels/arch/sm90/system.cuh. All devices are in one process.
#pragma once

#include "arch/sm90/memory.cuh"

namespace etc {

ETC_DEVICE u32 LoadAcquireSystem(const u32* address) { return LoadAcquire(address); }
ETC_DEVICE void FenceSystem() {}  // devices run by turns, each in program order
ETC_DEVICE void StoreRelaxedSystem(u32* address, u32 word) { StoreRelaxed(address, word); }
ETC_DEVICE void AddRelaxedSystem(u32* address, u32 amount) { AddRelease(address, amount); }
ETC_DEVICE void AddReleaseSystem(u32* address, u32 amount) { AddRelease(address, amount); }

}  // namespace etc
