// The launch that a CTA is of, and the order of launches that overlap (programmatic dependent
// launch).
#pragma once

#include "arch/common/types.cuh"

namespace etc {

/// The number of CTAs, read anew by each call: one value for a whole kernel would be a register for
/// a whole kernel.
ETC_DEVICE u32 GridSize() {
  u32 size;
  asm volatile("mov.u32 %0, %%nctaid.x;" : "=r"(size));
  return size;
}

/// The shared memory that the launch gives each CTA.
ETC_DEVICE char* LaunchSharedMemory() {
  extern __shared__ __align__(1024) char etc_shared[];
  return etc_shared;
}

/// The launch behind this one may start: once every CTA of this one has said so or has ended, its
/// CTAs take what room there is. Orders no memory.
ETC_DEVICE void AllowNextLaunch() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// Waits until the launch before this one has ended, and all that it wrote can be seen. Every CTA
/// of every launch calls it, so that the end of one launch means the end of all before it.
ETC_DEVICE void AwaitEarlierLaunches() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

}  // namespace etc
