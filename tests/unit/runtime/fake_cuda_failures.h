// How a function of the stand-in for the driver fails where a test asks it to.
#pragma once

#include "fake_cuda.h"
#include "runtime/cuda_driver.h"

namespace etc::test {

inline runtime::cuda::Result ResultOf(const char* function) {
  const auto& failures = etc_fake_cuda()->failures;
  const auto failure = failures.find(function);
  return failure == failures.end() ? runtime::cuda::kSuccess : failure->second;
}

/// Behind all that is enqueued in the stream (fake_cuda_streams.cpp).
void EnqueueFakeWork(void* stream, bool is_copy, std::function<void()> run);

}  // namespace etc::test

/// At the beginning of a function.
#define FAIL_IF_ASKED                                                                        \
  if (const cuda::Result result = etc::test::ResultOf(__func__); result != cuda::kSuccess) { \
    return result;                                                                           \
  }
