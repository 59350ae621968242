// Whether kernels of a device can reach memory that a caller binds.
#pragma once

#include <cstdint>

#include "runtime/cuda_driver.h"
#include "runtime/status.h"

namespace etc::runtime {

/// The device of the context that is current.
struct DeviceView {
  const cuda::Driver* driver = nullptr;
  cuda::Device device = 0;
  bool reaches_pageable = false;  // all memory of the process, as well as what CUDA knows
};

/// That the range lies in an allocation that the device has access to: its own, that of a peer
/// whose access is enabled, or memory of the host that CUDA knows. A range may go over several
/// mappings of virtual memory (cuMemMap) side by side. The text of a failure completes "the data
/// ...".
Status CheckDevicePointer(const DeviceView& view, const void* data, int64_t bytes);

}  // namespace etc::runtime
