// Streams and recordings of include/etc/device.h.
#include <memory>

#include "etc/device.h"
#include "runtime/c_api.h"
#include "runtime/cuda_driver.h"

using etc::runtime::Guard;
using etc::runtime::Status;

namespace cuda = etc::runtime::cuda;

struct etc_recording {
  const cuda::Driver* driver = nullptr;
  cuda::GraphExec graph = nullptr;

  ~etc_recording() {
    if (graph != nullptr) {
      driver->cuGraphExecDestroy(graph);
    }
  }
};

namespace {

/// The driver, with a context current.
Status Open(const cuda::Driver** driver) {
  cuda::Context context = nullptr;
  cuda::Device device = 0;
  ETC_RETURN_IF_BAD(cuda::OpenDriver(driver));
  return cuda::CurrentContext(**driver, &context, &device);
}

cuda::Stream AsStream(void* stream) { return static_cast<cuda::Stream>(stream); }

}  // namespace

etc_status etc_stream_create(void** stream) {
  return Guard([&]() -> Status {
    ETC_NEED(stream);
    const cuda::Driver* driver = nullptr;
    cuda::Stream created = nullptr;
    ETC_RETURN_IF_BAD(Open(&driver));
    ETC_RETURN_IF_BAD(driver->Check(driver->cuStreamCreate(&created, cuda::kStreamNonBlocking),
                                    "cuStreamCreate"));
    *stream = created;
    return {};
  });
}

etc_status etc_stream_free(void* stream) {
  return Guard([&]() -> Status {
    if (stream == nullptr) {
      return {};
    }
    const cuda::Driver* driver = nullptr;
    ETC_RETURN_IF_BAD(Open(&driver));
    return driver->Check(driver->cuStreamDestroy_v2(AsStream(stream)), "cuStreamDestroy");
  });
}

etc_status etc_stream_synchronize(void* stream) {
  return Guard([&]() -> Status {
    const cuda::Driver* driver = nullptr;
    ETC_RETURN_IF_BAD(Open(&driver));
    return driver->Check(driver->cuStreamSynchronize(AsStream(stream)), "cuStreamSynchronize");
  });
}

etc_status etc_recording_begin(void* stream) {
  return Guard([&]() -> Status {
    ETC_NEED(stream);
    const cuda::Driver* driver = nullptr;
    ETC_RETURN_IF_BAD(Open(&driver));
    return driver->Check(
        driver->cuStreamBeginCapture_v2(AsStream(stream), cuda::kCaptureThreadLocal),
        "cuStreamBeginCapture");
  });
}

etc_status etc_recording_end(void* stream, etc_recording** recording) {
  return Guard([&]() -> Status {
    ETC_NEED(stream, recording);
    const cuda::Driver* driver = nullptr;
    cuda::Graph graph = nullptr;
    ETC_RETURN_IF_BAD(Open(&driver));
    ETC_RETURN_IF_BAD(
        driver->Check(driver->cuStreamEndCapture(AsStream(stream), &graph), "cuStreamEndCapture"));
    auto made = std::make_unique<etc_recording>();
    made->driver = driver;
    const Status status = driver->Check(driver->cuGraphInstantiateWithFlags(&made->graph, graph, 0),
                                        "cuGraphInstantiate");
    driver->cuGraphDestroy(graph);
    ETC_RETURN_IF_BAD(status);
    *recording = made.release();
    return {};
  });
}

etc_status etc_recording_launch(etc_recording* recording, void* stream) {
  return Guard([&]() -> Status {
    ETC_NEED(recording);
    return recording->driver->Check(
        recording->driver->cuGraphLaunch(recording->graph, AsStream(stream)), "cuGraphLaunch");
  });
}

void etc_recording_free(etc_recording* recording) { delete recording; }
