// The part of the stand-in for the driver that has streams, events, and copies from the host that
// may stay under way.
#include <algorithm>
#include <cstring>

#include "fake_cuda.h"
#include "fake_cuda_failures.h"
#include "runtime/cuda_driver.h"

namespace {

using etc::test::FakeCopy;
using etc::test::FakeCuda;
namespace cuda = etc::runtime::cuda;

FakeCuda& state = *etc_fake_cuda();

/// What has to be done before it: so many copies of all.
struct Event {
  size_t copies = 0;
};

bool IsPinned(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  return std::any_of(state.registered.begin(), state.registered.end(), [&](const auto& memory) {
    const auto begin = reinterpret_cast<uintptr_t>(memory.first);
    return address >= begin && address < begin + memory.second;
  });
}

/// The device has read the host's memory only now.
void Finish(size_t most_under_way) {
  while (state.under_way.size() > most_under_way) {
    const FakeCopy& copy = state.under_way.front();
    std::memcpy(copy.to, copy.from, copy.bytes);
    state.under_way.pop_front();
  }
}

size_t Finished() { return state.uploads - state.under_way.size(); }

}  // namespace

extern "C" {

cuda::Result cuMemHostRegister_v2(void* data, size_t bytes, unsigned) {
  FAIL_IF_ASKED
  ++state.pinned;
  state.registered[data] = bytes;
  state.most_registered = std::max(state.most_registered, state.registered.size());
  return cuda::kSuccess;
}
cuda::Result cuMemHostUnregister(void* data) {
  if (state.registered.erase(data) == 0) {
    return cuda::kInvalidValue;
  }
  --state.pinned;
  return cuda::kSuccess;
}
cuda::Result cuMemcpyHtoDAsync_v2(cuda::DevicePointer to, const void* from, size_t bytes, void*) {
  FAIL_IF_ASKED
  ++state.uploads;
  state.under_way.push_back({reinterpret_cast<void*>(to), from, bytes});
  state.most_under_way = std::max(state.most_under_way, state.under_way.size());
  if (state.copies_under_way == 0 || !IsPinned(from)) {
    Finish(0);
  }
  return cuda::kSuccess;
}
cuda::Result cuStreamCreate(void** stream, unsigned) {
  *stream = &state;  // the driver leaves something there when it fails
  FAIL_IF_ASKED
  ++state.streams;
  *stream = new char;
  return cuda::kSuccess;
}
cuda::Result cuStreamDestroy_v2(void* stream) {
  --state.streams;
  delete static_cast<char*>(stream);
  return cuda::kSuccess;
}
cuda::Result cuStreamQuery(void*) {
  FAIL_IF_ASKED
  return cuda::kSuccess;
}
cuda::Result cuStreamSynchronize(void* stream) {
  Finish(0);
  state.synchronized.push_back(stream);
  return cuda::kSuccess;
}
cuda::Result cuEventCreate(void** event, unsigned) {
  FAIL_IF_ASKED
  ++state.events;
  *event = new Event;
  return cuda::kSuccess;
}
cuda::Result cuEventRecord(void* event, void*) {
  static_cast<Event*>(event)->copies = state.uploads;
  return cuda::kSuccess;
}
cuda::Result cuEventQuery(void* event) {
  FAIL_IF_ASKED
  Finish(state.copies_under_way);
  return static_cast<Event*>(event)->copies <= Finished() ? cuda::kSuccess : cuda::kNotReady;
}
cuda::Result cuEventSynchronize(void* event) {
  Finish(state.uploads - static_cast<Event*>(event)->copies);
  return cuda::kSuccess;
}
cuda::Result cuEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 1.5F;
  return cuda::kSuccess;
}
cuda::Result cuEventDestroy_v2(void* event) {
  --state.events;
  delete static_cast<Event*>(event);
  return cuda::kSuccess;
}

}  // extern "C"
