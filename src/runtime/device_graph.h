// Launches as a CUDA graph.
#pragma once

#include <memory>
#include <vector>

#include "runtime/backend.h"
#include "runtime/cuda_driver.h"

namespace etc::runtime {

/// What all launches of a kernel have in common.
struct LaunchShape {
  std::vector<cuda::Function> functions;  // by number of the entry
  unsigned threads = 0;
  unsigned shared_bytes = 0;
};

/// Of launches in a context. `kernels`, by index into the graph function's, must outlive it. Null
/// where the driver is too old.
std::unique_ptr<LaunchGraph> MakeDeviceGraph(const cuda::Driver& driver, cuda::Context context,
                                             const std::vector<LaunchShape>& kernels);

}  // namespace etc::runtime
