// Streams and recordings of include/etc/device.h.
#include <memory>

#include "etc/device.h"
#include "runtime/c_api.h"
#include "runtime/cuda_driver.h"

using etc::runtime::Fail;
using etc::runtime::Guard;
using etc::runtime::Status;

namespace cuda = etc::runtime::cuda;

struct etc_recording {
  const cuda::Driver* driver = nullptr;
  cuda::Context context = nullptr;  // of the device that it was recorded on
  cuda::GraphExec graph = nullptr;

  ~etc_recording() {
    if (graph != nullptr) {
      const cuda::ScopedContext scope(*driver, context);
      driver->Note(driver->cuGraphExecDestroy(graph), "cuGraphExecDestroy");
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

/// The thread may have another recording under way, of a rank on another device.
Status Instantiate(const cuda::Driver& driver, cuda::Device device, cuda::Graph graph,
                   cuda::GraphExec* made) {
  const cuda::RelaxedCapture relaxed(driver);
  Status status = driver.CheckMade(driver.cuGraphInstantiateWithFlags(made, graph, 0),
                                   "cuGraphInstantiate", made);
  return status.Ok() ? status
                     : Fail(status.code, "the recording on device ", device, ": ", status.message);
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
    cuda::Device device = 0;
    auto made = std::make_unique<etc_recording>();
    ETC_RETURN_IF_BAD(cuda::OpenDriver(&driver));
    ETC_RETURN_IF_BAD(cuda::CurrentContext(*driver, &made->context, &device));
    made->driver = driver;
    ETC_RETURN_IF_BAD(
        driver->Check(driver->cuStreamEndCapture(AsStream(stream), &graph), "cuStreamEndCapture"));
    const Status status = Instantiate(*driver, device, graph, &made->graph);
    driver->Note(driver->cuGraphDestroy(graph), "cuGraphDestroy");
    ETC_RETURN_IF_BAD(status);
    *recording = made.release();
    return {};
  });
}

etc_status etc_recording_launch(etc_recording* recording, void* stream) {
  return Guard([&]() -> Status {
    ETC_NEED(recording);
    const cuda::ScopedContext scope(*recording->driver, recording->context);
    ETC_RETURN_IF_BAD(scope.status());
    return recording->driver->Check(
        recording->driver->cuGraphLaunch(recording->graph, AsStream(stream)), "cuGraphLaunch");
  });
}

void etc_recording_free(etc_recording* recording) { delete recording; }
