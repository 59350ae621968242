// How a function of the stand-in for the driver fails where a test asks it to.
#pragma once

#include "fake_cuda.h"
#include "runtime/cuda_driver.h"

namespace etc::test {

inline constexpr runtime::cuda::Result kInvalidHandle = 400;

inline runtime::cuda::Result ResultOf(const char* function) {
  const auto& failures = etc_fake_cuda()->failures;
  const auto failure = failures.find(function);
  return failure == failures.end() ? runtime::cuda::kSuccess : failure->second;
}

/// Behind all that is enqueued in the stream (fake_cuda_streams.cpp).
void EnqueueFakeWork(void* stream, bool is_copy, std::function<void()> run);

/// The device whose context is current.
int CurrentFakeDevice();

/// A driver takes launches on a stream from whoever has the context of its device current.
inline bool IsOfCurrentDevice(void* stream) {
  const auto& devices = etc_fake_cuda()->device_of;
  const auto device = devices.find(stream);
  return device == devices.end() || device->second == CurrentFakeDevice();
}

}  // namespace etc::test

/// At the beginning of a function.
#define FAIL_IF_ASKED                                                                        \
  if (const cuda::Result result = etc::test::ResultOf(__func__); result != cuda::kSuccess) { \
    return result;                                                                           \
  }
