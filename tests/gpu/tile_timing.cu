// What the tile kernels reach, a file of its own to compile beside the tests.
#include "swap_ab_timing.cuh"
#include "timing.cuh"

namespace etc::test {
void TimeKernels(Report& report) {
  TimeAll(report);
  TimeProjections<32>();
  TimeProjections<128>();
}
}  // namespace etc::test
