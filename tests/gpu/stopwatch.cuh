// How long launches take.
#pragma once

#include "support.cuh"

namespace etc::test {

/// The median time of a launch in microseconds.
template <class Program>
float MedianTime(Launcher<Program>& launcher, const typename Launcher<Program>::Given& program,
                 int launches) {
  cudaEvent_t start, stop;
  CUDA_OK(cudaEventCreate(&start));
  CUDA_OK(cudaEventCreate(&stop));
  std::vector<float> times;
  for (int i = 0; i < launches + 2; ++i) {
    CUDA_OK(cudaEventRecord(start));
    launcher.Launch(program);
    CUDA_OK(cudaEventRecord(stop));
    CUDA_OK(cudaEventSynchronize(stop));
    float milliseconds;
    CUDA_OK(cudaEventElapsedTime(&milliseconds, start, stop));
    if (i >= 2) {
      times.push_back(milliseconds * 1e3f);
    }
  }
  CUDA_OK(cudaEventDestroy(start));
  CUDA_OK(cudaEventDestroy(stop));
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace etc::test
