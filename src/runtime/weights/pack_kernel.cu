// The kernel that packs weights on a device. The library has it as pack_kernel.ptx, which
// scripts/pack_kernel.sh makes of this file.
#include "runtime/weights/pack_job.h"
#include "runtime/weights/pack_kernel.h"

extern "C" __global__ void __launch_bounds__(etc::runtime::kPackThreads)
    etc_pack_weights(const etc::runtime::PackJob job) {
  const uint32_t threads = gridDim.x * blockDim.x;
#pragma unroll 1  // the driver compiles this when weights are loaded, so it has to be short
  for (uint32_t unit = blockIdx.x * blockDim.x + threadIdx.x; unit < job.units; unit += threads) {
    etc::runtime::PackUnit(job, unit);
  }
}
