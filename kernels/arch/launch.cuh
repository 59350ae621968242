// The order of launches that overlap (programmatic dependent launch).
#pragma once

#include "arch/types.cuh"

namespace etc {

/// The launch behind this one may start: once every CTA of this one has said so or has ended, its
/// CTAs take what room there is. Orders no memory.
ETC_DEVICE void AllowNextLaunch() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// Waits until the launch before this one has ended, and all that it wrote can be seen. Every CTA
/// of every launch calls it, so that the end of one launch means the end of all before it.
ETC_DEVICE void AwaitEarlierLaunches() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

}  // namespace etc
