// The few functions of the CUDA runtime API that tests use, on the emulated device.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <tuple>
#include <utility>

#include "emulator/language.h"

using cudaError_t = int;
using cudaStream_t = void*;
constexpr cudaError_t cudaSuccess = 0;
constexpr cudaError_t cudaErrorMemoryAllocation = 2;
constexpr cudaError_t cudaErrorLaunchFailure = 719;
constexpr int cudaMemcpyHostToDevice = 1;
constexpr int cudaMemcpyDeviceToHost = 2;
constexpr int cudaFuncAttributeMaxDynamicSharedMemorySize = 8;
constexpr int cudaDevAttrMultiProcessorCount = 16;

struct dim3 {
  unsigned x, y = 1, z = 1;
  dim3(unsigned count) : x(count) {}
};

namespace etc::emulator {

/// Runs the kernel to its end. What is wrong with it is printed: the error says only that.
cudaError_t Launch(int blocks, int threads, size_t shared_bytes, std::function<void()> kernel);
/// Runs with all that is enqueued, behind what stands in the same stream.
void Enqueue(const void* stream, int blocks, int threads, size_t shared_bytes,
             std::function<void()> kernel);
cudaError_t RunAll();
int Devices();
/// Memory that ends at a page which nobody may touch; null where there is none.
void* Allocate(size_t bytes);
void Release(void* memory);
/// SMs of the device: ETC_EMULATOR_SMS, or 4.
int Sms();

}  // namespace etc::emulator

inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorLaunchFailure      ? "the emulated launch failed"
         : error == cudaErrorMemoryAllocation ? "out of memory"
                                              : "an error";
}
template <class T>
cudaError_t cudaMalloc(T** data, size_t bytes) {
  *data = static_cast<T*>(etc::emulator::Allocate(bytes));
  return *data != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaFree(void* data) {
  etc::emulator::Release(data);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* data, int byte, size_t bytes) {
  std::memset(data, byte, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, int) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, int, int) {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, int, int) {
  *value = etc::emulator::Sms();
  return cudaSuccess;
}

namespace etc::emulator {

/// A call of a kernel with copies of its arguments, which stand where the pointers say.
template <class Parameter>
std::function<void()> Bound(void (*kernel)(Parameter), void** arguments) {
  return [kernel, argument = *static_cast<std::remove_const_t<Parameter>*>(arguments[0])] {
    kernel(argument);
  };
}

/// Calls a kernel with its arguments, which stand where the pointers say.
template <class... Parameters, size_t... i>
void Call(void (*kernel)(Parameters...), void** arguments, std::index_sequence<i...>) {
  kernel(*static_cast<Parameters*>(arguments[i])...);
}

}  // namespace etc::emulator

template <class... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                        void** arguments, size_t shared_bytes, cudaStream_t) {
  return etc::emulator::Launch(int(grid.x), int(block.x), shared_bytes, [=] {
    etc::emulator::Call(kernel, arguments, std::index_sequence_for<Parameters...>{});
  });
}
