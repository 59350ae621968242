// The part of the stand-in for the driver that has streams, events, and work that may stay under
// way: copies from the host, and kernels that pack weights.
#include <algorithm>
#include <cstring>
#include <utility>

#include "fake_cuda.h"
#include "fake_cuda_failures.h"
#include "runtime/cuda_driver.h"
#include "runtime/weights/pack_kernel.h"

namespace {

using etc::test::EnqueueFakeWork;
using etc::test::FakeCuda;
using etc::test::FakeWork;
namespace cuda = etc::runtime::cuda;

FakeCuda& state = *etc_fake_cuda();

/// What has to be done before it: the work of its stream up to that number.
struct Event {
  void* stream = nullptr;
  size_t number = 0;
};

/// Whether one registration has all of it.
bool IsPinned(const void* data, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  return std::any_of(state.registered.begin(), state.registered.end(), [&](const auto& memory) {
    const auto begin = reinterpret_cast<uintptr_t>(memory.first);
    return address >= begin && address + bytes <= begin + memory.second;
  });
}

/// Does the work of a stream up to a number, in its order. The host's memory is read only now.
void FinishStream(void* stream, size_t number) {
  for (auto work = state.under_way.begin();
       work != state.under_way.end() && work->number <= number;) {
    if (work->stream != stream) {
      ++work;
      continue;
    }
    work->run();
    work = state.under_way.erase(work);
  }
}

size_t CopiesUnderWay() {
  return static_cast<size_t>(std::count_if(state.under_way.begin(), state.under_way.end(),
                                           [](const FakeWork& work) { return work.is_copy; }));
}

/// Copies go one after the other, in the order of all streams. Kernels end as late as their streams
/// allow: before the next copy of the same one.
void FinishCopies(size_t most_under_way) {
  while (CopiesUnderWay() > most_under_way) {
    const auto first = std::find_if(state.under_way.begin(), state.under_way.end(),
                                    [](const FakeWork& work) { return work.is_copy; });
    FinishStream(first->stream, first->number);
  }
}

}  // namespace

void etc::test::EnqueueFakeWork(void* stream, bool is_copy, std::function<void()> run) {
  state.under_way.push_back({stream, ++state.enqueued, is_copy, std::move(run)});
}

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
cuda::Result cuMemcpyHtoDAsync_v2(cuda::DevicePointer to, const void* from, size_t bytes,
                                  void* stream) {
  FAIL_IF_ASKED
  if (IsPinned(from, 1) && !IsPinned(from, bytes)) {
    return cuda::kInvalidValue;
  }
  ++state.uploads;
  EnqueueFakeWork(stream, true, [=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
  state.most_under_way = std::max(state.most_under_way, CopiesUnderWay());
  if (state.copies_under_way == 0 || !IsPinned(from, bytes)) {
    FinishCopies(0);
  }
  return cuda::kSuccess;
}
cuda::Result cuStreamCreate(void** stream, unsigned) {
  *stream = &state;  // the driver leaves something there when it fails
  FAIL_IF_ASKED
  ++state.streams;
  *stream = new char;
  state.device_of[*stream] = etc::test::CurrentFakeDevice();
  return cuda::kSuccess;
}
cuda::Result cuStreamDestroy_v2(void* stream) {
  --state.streams;
  state.device_of.erase(stream);
  delete static_cast<char*>(stream);
  return cuda::kSuccess;
}
cuda::Result cuStreamQuery(void*) {
  FAIL_IF_ASKED
  return cuda::kSuccess;
}
cuda::Result cuStreamSynchronize(void* stream) {
  FinishStream(stream, state.enqueued);
  state.synchronized.push_back(stream);
  const bool is_last = !state.launches.empty() && state.launches.back().stream == stream &&
                       state.launches.back().entry == etc::runtime::kPackKernelName;
  return is_last ? state.pack_result : cuda::kSuccess;
}
cuda::Result cuEventCreate(void** event, unsigned) {
  *event = &state;  // the driver leaves something there when it fails
  FAIL_IF_ASKED
  ++state.events;
  *event = new Event;
  return cuda::kSuccess;
}
cuda::Result cuEventRecord(void* event, void* stream) {
  *static_cast<Event*>(event) = {stream, state.enqueued};
  return cuda::kSuccess;
}
cuda::Result cuEventQuery(void* event) {
  FAIL_IF_ASKED
  FinishCopies(state.copies_under_way);
  const auto& asked = *static_cast<Event*>(event);
  const bool is_done =
      std::none_of(state.under_way.begin(), state.under_way.end(), [&](const FakeWork& work) {
        return work.stream == asked.stream && work.number <= asked.number;
      });
  return is_done ? cuda::kSuccess : cuda::kNotReady;
}
cuda::Result cuEventSynchronize(void* event) {
  const auto& asked = *static_cast<Event*>(event);
  FinishStream(asked.stream, asked.number);
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
