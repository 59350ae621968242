// Kernels as launches, cooperative or overlapping, on the device whose context was current at
// creation.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "runtime/backend.h"
#include "runtime/cuda_driver.h"
#include "runtime/device_graph.h"
#include "runtime/device_pointer.h"
#include "runtime/launches.h"

namespace etc::runtime {
namespace {

constexpr int32_t kDlCuda = 2;
constexpr int32_t kDlCudaHost = 3;
constexpr int32_t kDlCudaManaged = 13;

cuda::DevicePointer Address(const void* data) {
  return reinterpret_cast<cuda::DevicePointer>(data);
}
cuda::Stream AsStream(void* stream) { return static_cast<cuda::Stream>(stream); }

Status Attribute(const cuda::Driver& driver, cuda::Device device, int attribute, int* value) {
  return driver.Check(driver.cuDeviceGetAttribute(value, attribute, device),
                      "cuDeviceGetAttribute");
}

/// A target with a letter ("sm_90a") runs on that very architecture, one without on it and on later
/// ones of the same generation.
Status CheckArch(const cuda::Driver& driver, cuda::Device device, const std::string& target) {
  int major = 0;
  int minor = 0;
  ETC_RETURN_IF_BAD(Attribute(driver, device, cuda::kAttributeComputeMajor, &major));
  ETC_RETURN_IF_BAD(Attribute(driver, device, cuda::kAttributeComputeMinor, &minor));
  char* suffix = nullptr;
  const long wanted = std::strtol(target.c_str() + std::string_view("sm_").size(), &suffix, 10);
  const int have = major * 10 + minor;
  const bool fits = *suffix != '\0' ? have == wanted : major == wanted / 10 && have >= wanted;
  return fits ? Status{}
              : Fail(ETC_ERROR_NO_DEVICE, "the program is for ", target, ", but device ", device,
                     " is sm_", have);
}

/// Elements count by their size alone, and what is outside of the tensor reads as zeros. No tensor
/// without elements is ever read, so any map will do for one.
Status EncodeTensorMap(const cuda::Driver& driver, const TensorBox& box, uint64_t* words) {
  struct alignas(64) Map {
    uint64_t words[kMapWords];
  } map = {};
  const auto extent = [&](size_t axis) {
    return static_cast<uint64_t>(std::max<int64_t>(box.shape[axis], 1));
  };
  const auto bytes = static_cast<uint64_t>(box.element_bytes);
  const uint64_t shape[] = {extent(2), extent(1), extent(0)};
  const uint64_t strides[] = {shape[0] * bytes, shape[1] * shape[0] * bytes};
  const uint32_t extents[] = {static_cast<uint32_t>(box.box_columns),
                              static_cast<uint32_t>(box.box_rows), 1};
  const uint32_t steps[] = {1, 1, 1};
  const int64_t row_bytes = box.box_columns * box.element_bytes;
  const int type = box.element_bytes == 1   ? cuda::kMap8Bits
                   : box.element_bytes == 2 ? cuda::kMap16Bits
                   : box.element_bytes == 4 ? cuda::kMap32Bits
                                            : cuda::kMap64Bits;
  const int swizzle = row_bytes > kWidestSwizzle ? cuda::kMapNoSwizzle
                      : row_bytes == 32          ? cuda::kMapSwizzle32
                      : row_bytes == 64          ? cuda::kMapSwizzle64
                                                 : cuda::kMapSwizzle128;
  ETC_RETURN_IF_BAD(
      driver.Check(driver.cuTensorMapEncodeTiled(&map, type, 3, const_cast<void*>(box.data), shape,
                                                 strides, extents, steps, cuda::kMapPlain, swizzle,
                                                 cuda::kMapPromotion256, cuda::kMapZeros),
                   "cuTensorMapEncodeTiled"));
  std::copy(std::begin(map.words), std::end(map.words), words);
  return {};
}

class DeviceBackend : public Backend {
 public:
  DeviceBackend(const cuda::Driver& driver, cuda::Context context, cuda::Device device, int sharers)
      : driver_(driver), context_(context), device_(device), sharers_(sharers) {}
  ~DeviceBackend() override {
    if (own_stream_ != nullptr) {
      driver_.Note(driver_.cuStreamDestroy_v2(own_stream_), "cuStreamDestroy");
    }
  }

  /// With the context current.
  Status Prepare(const Program& program, const manifest::Graph& graph) {
    int cooperative = 0;
    int max_shared = 0;
    ETC_RETURN_IF_BAD(CheckArch(driver_, device_, program.manifest().target));
    ETC_RETURN_IF_BAD(Attribute(driver_, device_, cuda::kAttributeCooperativeLaunch, &cooperative));
    if (cooperative == 0) {
      return Fail(ETC_ERROR_NO_DEVICE, "device ", device_, " has no cooperative launches");
    }
    ETC_RETURN_IF_BAD(Attribute(driver_, device_, cuda::kAttributeSms, &sms_));
    if (sms_ < sharers_) {
      return Fail(ETC_ERROR_NO_DEVICE, "device ", device_, " has ", sms_, " SMs for ", sharers_,
                  " ranks");
    }
    sms_ /= sharers_;
    ETC_RETURN_IF_BAD(Attribute(driver_, device_, cuda::kAttributePageableMemory, &pageable_));
    ETC_RETURN_IF_BAD(Attribute(driver_, device_, cuda::kAttributeMaxSharedOptin, &max_shared));
    for (const manifest::Kernel& kernel : graph.kernels) {
      if (kernel.shared_bytes > max_shared) {
        return Fail(ETC_ERROR_NO_DEVICE, "kernel `", NameOf(kernel), "` needs ",
                    kernel.shared_bytes, " bytes of shared memory, but device ", device_, " has ",
                    max_shared);
      }
      ETC_RETURN_IF_BAD(PrepareKernel(program, kernel));
    }
    return {};
  }

  int DefaultSms() const override { return sms_; }
  int MaxSms() const override { return sms_; }
  bool IsHost() const override { return false; }

  Status Allocate(int64_t bytes, void* stream, void** data) override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    return allocator_ ? AllocateBy(*allocator_, bytes, device_, stream, data)
                      : AllocateByDriver(bytes, data);
  }
  void Free(void* data, int64_t bytes) override {
    if (!allocator_) {
      FreeShared(data, bytes);
      return;
    }
    const cuda::ScopedContext scope(driver_, context_);
    driver_.Note(driver_.cuCtxSynchronize(), "cuCtxSynchronize");  // as cuMemFree does
    allocator_->release(allocator_->user, data, bytes, device_);
  }
  /// Never the caller's, of which nobody knows whether the access of peers reaches it.
  Status AllocateShared(int64_t bytes, void** data) override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    return AllocateByDriver(bytes, data);
  }
  void FreeShared(void* data, int64_t /*bytes*/) override {
    const cuda::ScopedContext scope(driver_, context_);
    if (scope.status().Ok()) {
      driver_.Note(driver_.cuMemFree_v2(Address(data)), "cuMemFree");
    }
  }
  /// In whole pages of the device: a peer would see what else is in them.
  Status Export(int64_t bytes, void** data, std::string* handle) override {
    constexpr int64_t kPage = int64_t{2} << 20;
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    const int64_t padded = bytes > INT64_MAX - kPage ? bytes : (bytes + kPage - 1) / kPage * kPage;
    ETC_RETURN_IF_BAD(AllocateByDriver(padded, data));
    cuda::IpcHandle made{};
    Status status =
        driver_.Check(driver_.cuIpcGetMemHandle(&made, Address(*data)), "cuIpcGetMemHandle");
    if (!status.Ok()) {
      driver_.Note(driver_.cuMemFree_v2(Address(*data)), "cuMemFree");
      *data = nullptr;
      return status;
    }
    handle->assign(made.bytes, sizeof made.bytes);
    return {};
  }
  void FreeExported(void* data, int64_t bytes) override { FreeShared(data, bytes); }
  Status Import(const std::string& handle, int64_t /*bytes*/, void** data) override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    cuda::IpcHandle given{};
    if (handle.size() != sizeof given.bytes) {
      return Fail(ETC_ERROR_GROUP, "a handle of ", handle.size(), " bytes is none");
    }
    handle.copy(given.bytes, sizeof given.bytes);
    cuda::DevicePointer address = 0;
    ETC_RETURN_IF_BAD(
        driver_.Check(driver_.cuIpcOpenMemHandle_v2(&address, given, cuda::kIpcLazyPeerAccess),
                      "cuIpcOpenMemHandle"));
    *data = reinterpret_cast<void*>(address);
    return {};
  }
  void CloseImported(void* data, int64_t /*bytes*/) override {
    const cuda::ScopedContext scope(driver_, context_);
    if (scope.status().Ok()) {
      driver_.Note(driver_.cuIpcCloseMemHandle(Address(data)), "cuIpcCloseMemHandle");
    }
  }
  Status Zero(void* data, int64_t bytes, void* stream) override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    return driver_.Check(
        driver_.cuMemsetD8Async(Address(data), 0, static_cast<size_t>(bytes), AsStream(stream)),
        "cuMemsetD8Async");
  }
  Status Synchronize(void* stream) override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    return driver_.Check(driver_.cuStreamSynchronize(AsStream(stream)), "cuStreamSynchronize");
  }
  Status IsDone(void* stream, bool* done) override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    const cuda::Result result = driver_.cuStreamQuery(AsStream(stream));
    *done = result != cuda::kNotReady;
    return *done ? driver_.Check(result, "cuStreamQuery") : Status{};
  }
  Status Read(const void* data, int64_t bytes, void* stream, void* to) override {
    ETC_RETURN_IF_BAD(Synchronize(stream));
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    return driver_.Check(driver_.cuMemcpyDtoH_v2(to, Address(data), static_cast<size_t>(bytes)),
                         "cuMemcpyDtoH");
  }
  Status Write(void* data, int64_t bytes, const void* from) override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    ETC_RETURN_IF_BAD(driver_.Check(
        driver_.cuMemcpyHtoD_v2(Address(data), from, static_cast<size_t>(bytes)), "cuMemcpyHtoD"));
    // The driver may return with a small copy still on its way.
    return driver_.Check(driver_.cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  }
  Status Drain() override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    return driver_.Check(driver_.cuCtxSynchronize(), "cuCtxSynchronize");
  }
  Status OwnStream(void** stream) override {
    if (own_stream_ == nullptr) {
      const cuda::ScopedContext scope(driver_, context_);
      ETC_RETURN_IF_BAD(scope.status());
      ETC_RETURN_IF_BAD(
          driver_.CheckMade(driver_.cuStreamCreate(&own_stream_, cuda::kStreamDefault),
                            "cuStreamCreate", &own_stream_));
    }
    *stream = own_stream_;
    return {};
  }
  Status IsCapturing(void* stream, bool* capturing) override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    int state = cuda::kCaptureNone;
    ETC_RETURN_IF_BAD(driver_.Check(driver_.cuStreamIsCapturing(AsStream(stream), &state),
                                    "cuStreamIsCapturing"));
    *capturing = state != cuda::kCaptureNone;
    return {};
  }

  Status CheckStream(void* stream) override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    cuda::Context owner = nullptr;
    const bool is_known = driver_.cuStreamGetCtx(AsStream(stream), &owner) == cuda::kSuccess;
    return !is_known || owner == context_
               ? Status{}
               : Fail(ETC_ERROR_ARGUMENT, "the stream is not one of device ", device_);
  }

  Status CheckPointer(const void* data, int64_t bytes) override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    return CheckDevicePointer({&driver_, device_, pageable_ != 0}, data, bytes);
  }
  Status CheckDlpackDevice(int32_t type, int32_t id, const void* data) override {
    if (type != kDlCuda && type != kDlCudaHost && type != kDlCudaManaged) {
      return Fail(ETC_ERROR_BIND, "the tensor is not on a CUDA device (DLPack type ", type, ")");
    }
    if (type != kDlCuda || id == device_ || data == nullptr) {
      return {};
    }
    // Legal where the access is enabled, which CheckPointer finds out for the device that it is on.
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    cuda::Device owner = 0;
    ETC_RETURN_IF_BAD(
        driver_.Check(driver_.cuPointerGetAttribute(&owner, cuda::kPointerOrdinal, Address(data)),
                      "cuPointerGetAttribute"));
    return owner == id ? Status{}
                       : Fail(ETC_ERROR_BIND, "the tensor is said to be on device ", id,
                              ", but its data is on device ", owner);
  }

  Status Launch(const LaunchRequest& request, std::vector<uint64_t>& block, void* stream) override {
    const cuda::ScopedContext scope(driver_, context_);
    ETC_RETURN_IF_BAD(scope.status());
    const LaunchShape& shape = kernels_[request.kernel];
    cuda::LaunchAttribute attribute{};
    // The driver may have one cooperative launch wait for the other, so those that share a device
    // are plain: there are enough SMs for all.
    const bool plain = request.mode == LaunchMode::InOrder ||
                       (request.mode == LaunchMode::Cooperative && sharers_ > 1);
    if (request.mode == LaunchMode::Cooperative) {
      attribute.id = cuda::kLaunchCooperative;
      attribute.value.cooperative = 1;
    } else {
      attribute.id = cuda::kLaunchProgrammatic;
      attribute.value.programmatic = 1;
    }
    const cuda::LaunchConfig config{static_cast<unsigned>(request.sms),
                                    1,
                                    1,
                                    shape.threads,
                                    1,
                                    1,
                                    shape.shared_bytes,
                                    AsStream(stream),
                                    &attribute,
                                    plain ? 0U : 1U};
    void* params[] = {block.data()};
    return driver_.Check(
        driver_.cuLaunchKernelEx(&config, shape.functions[request.entry], params, nullptr),
        "cuLaunchKernelEx");
  }
  Status MakeTensorMap(const TensorBox& box, uint64_t* words) override {
    return EncodeTensorMap(driver_, box, words);
  }
  std::unique_ptr<LaunchGraph> NewGraph() override {
    return MakeDeviceGraph(driver_, context_, kernels_);
  }

 private:
  Status AllocateByDriver(int64_t bytes, void** data) {
    cuda::DevicePointer address = 0;
    if (Status status = driver_.Check(driver_.cuMemAlloc_v2(&address, static_cast<size_t>(bytes)),
                                      "cuMemAlloc");
        !status.Ok()) {
      return Fail(status.code, "cannot allocate ", bytes, " bytes: ", status.message);
    }
    *data = reinterpret_cast<void*>(address);
    return {};
  }

  /// Loads the functions into the context now, because that cannot be done during a capture.
  Status PrepareKernel(const Program& program, const manifest::Kernel& kernel) {
    LaunchShape& shape = kernels_.emplace_back();
    shape.threads = static_cast<unsigned>(kernel.threads);
    shape.shared_bytes = static_cast<unsigned>(kernel.shared_bytes);
    for (const std::string& name : EntryNames(kernel)) {
      ETC_RETURN_IF_BAD(PrepareEntry(program, kernel, name, &shape.functions.emplace_back()));
    }
    return {};
  }

  Status PrepareEntry(const Program& program, const manifest::Kernel& kernel,
                      const std::string& name, cuda::Function* function) {
    ETC_RETURN_IF_BAD(program.device_binary().FindEntry(driver_, name, function));
    ETC_RETURN_IF_BAD(
        driver_.Check(driver_.cuFuncSetAttribute(*function, cuda::kFunctionMaxDynamicShared,
                                                 static_cast<int>(kernel.shared_bytes)),
                      "cuFuncSetAttribute"));
    int resident = 0;
    ETC_RETURN_IF_BAD(driver_.Check(driver_.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                                        &resident, *function, static_cast<int>(kernel.threads),
                                        static_cast<size_t>(kernel.shared_bytes)),
                                    "cuOccupancyMaxActiveBlocksPerMultiprocessor"));
    return resident > 0 ? Status{}
                        : Fail(ETC_ERROR_NO_DEVICE, "kernel `", name,
                               "` does not fit on one SM of device ", device_);
  }

  const cuda::Driver& driver_;
  cuda::Context context_;
  cuda::Device device_;
  const int sharers_;
  cuda::Stream own_stream_ = nullptr;
  int sms_ = 0;  // of this backend
  int pageable_ = 0;
  std::vector<LaunchShape> kernels_;  // of each kernel of the graph
};

}  // namespace

Status MakeDeviceBackend(const Program& program, const manifest::Graph& graph, int sharers,
                         std::unique_ptr<Backend>* backend) {
  const cuda::Driver* driver = nullptr;
  cuda::Context context = nullptr;
  cuda::Device device = 0;
  ETC_RETURN_IF_BAD(cuda::OpenDriver(&driver));
  ETC_RETURN_IF_BAD(cuda::CurrentContext(*driver, &context, &device));
  auto made = std::make_unique<DeviceBackend>(*driver, context, device, sharers);
  ETC_RETURN_IF_BAD(made->Prepare(program, graph));
  *backend = std::move(made);
  return {};
}

}  // namespace etc::runtime
