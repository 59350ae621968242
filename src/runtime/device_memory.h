// The memory that etc_device_alloc gives.
#pragma once

#include <cstdint>

#include "runtime/status.h"

namespace etc::runtime {

/// Of the caller's functions (etc_set_allocator) where there are some, else the driver's, on the
/// device whose context is current.
Status AllocateDeviceMemory(int64_t bytes, void** data);

/// Gives memory back to where it came from, when nothing uses it any more.
Status FreeDeviceMemory(void* data);

}  // namespace etc::runtime
