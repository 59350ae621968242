// include/etc/device.h
#include "etc/device.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "runtime/c_api.h"
#include "runtime/cuda_driver.h"
#include "runtime/device_memory.h"
#include "runtime/sized.h"

using etc::runtime::Fail;
using etc::runtime::Guard;
using etc::runtime::Status;

namespace cuda = etc::runtime::cuda;

struct etc_timer {
  const cuda::Driver* driver = nullptr;
  cuda::Event start = nullptr;
  cuda::Event stop = nullptr;

  ~etc_timer() {
    for (cuda::Event event : {start, stop}) {
      if (event != nullptr) {
        driver->Note(driver->cuEventDestroy_v2(event), "cuEventDestroy");
      }
    }
  }
};

namespace {

struct Device {
  const cuda::Driver* driver = nullptr;
  cuda::Context context = nullptr;
  cuda::Device id = 0;
};

Status Current(Device* device) {
  ETC_RETURN_IF_BAD(cuda::OpenDriver(&device->driver));
  return cuda::CurrentContext(*device->driver, &device->context, &device->id);
}

Status CheckBytes(int64_t bytes) {
  return bytes >= 0 ? Status{} : Fail(ETC_ERROR_ARGUMENT, "the size is ", bytes, " bytes");
}

cuda::DevicePointer Address(const void* data) {
  return reinterpret_cast<cuda::DevicePointer>(data);
}
cuda::Stream AsStream(void* stream) { return static_cast<cuda::Stream>(stream); }

Status Describe(const Device& device, etc_device_info* info) {
  const cuda::Driver& driver = *device.driver;
  const auto attribute = [&](int number, int* value) {
    return driver.Check(driver.cuDeviceGetAttribute(value, number, device.id),
                        "cuDeviceGetAttribute");
  };
  int major = 0;
  int minor = 0;
  size_t memory = 0;
  ETC_RETURN_IF_BAD(driver.Check(driver.cuDeviceGetName(info->name, sizeof(info->name), device.id),
                                 "cuDeviceGetName"));
  ETC_RETURN_IF_BAD(attribute(cuda::kAttributeComputeMajor, &major));
  ETC_RETURN_IF_BAD(attribute(cuda::kAttributeComputeMinor, &minor));
  ETC_RETURN_IF_BAD(attribute(cuda::kAttributeSms, &info->sms));
  ETC_RETURN_IF_BAD(
      driver.Check(driver.cuDriverGetVersion(&info->driver_version), "cuDriverGetVersion"));
  ETC_RETURN_IF_BAD(
      driver.Check(driver.cuDeviceTotalMem_v2(&memory, device.id), "cuDeviceTotalMem"));
  std::snprintf(info->arch, sizeof(info->arch), "sm_%d%d", major % 100, minor % 100);
  info->memory_bytes = static_cast<int64_t>(memory);
  return {};
}

Status Record(etc_timer* timer, cuda::Event event, void* stream) {
  return timer->driver->Check(timer->driver->cuEventRecord(event, AsStream(stream)),
                              "cuEventRecord");
}

}  // namespace

etc_status etc_device_available(void) {
  return Guard([]() -> Status {
    Device device;
    return Current(&device);
  });
}

etc_status etc_device_describe(etc_device_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(info);
    Device device;
    etc_device_info described{};
    ETC_RETURN_IF_BAD(etc::runtime::CheckSize<etc_device_info>("info", info->struct_size));
    ETC_RETURN_IF_BAD(Current(&device));
    ETC_RETURN_IF_BAD(Describe(device, &described));
    return etc::runtime::GiveSized("info", described, info);
  });
}

etc_status etc_device_use(int32_t device) {
  return Guard([&]() -> Status {
    const cuda::Driver* driver = nullptr;
    cuda::Context context = nullptr;
    ETC_RETURN_IF_BAD(cuda::OpenDriver(&driver));
    ETC_RETURN_IF_BAD(cuda::ContextOf(*driver, device, &context));
    return driver->Check(driver->cuCtxSetCurrent(context), "cuCtxSetCurrent");
  });
}

etc_status etc_device_alloc(int64_t bytes, void** data) {
  return Guard([&]() -> Status {
    ETC_NEED(data);
    ETC_RETURN_IF_BAD(CheckBytes(bytes));
    // No allocator gives a pointer for nothing.
    return etc::runtime::AllocateDeviceMemory(std::max<int64_t>(bytes, 1), data);
  });
}

etc_status etc_device_free(void* data) {
  return Guard([&]() -> Status {
    return data == nullptr ? Status{} : etc::runtime::FreeDeviceMemory(data);
  });
}

etc_status etc_host_alloc(int64_t bytes, void** data) {
  return Guard([&]() -> Status {
    ETC_NEED(data);
    Device device;
    ETC_RETURN_IF_BAD(CheckBytes(bytes));
    ETC_RETURN_IF_BAD(Current(&device));
    const Status status = device.driver->Check(
        device.driver->cuMemHostAlloc(data, static_cast<size_t>(std::max<int64_t>(bytes, 1)), 0),
        "cuMemHostAlloc");
    return status.Ok() ? status
                       : Fail(status.code, "cannot allocate ", bytes,
                              " bytes of pinned memory: ", status.message);
  });
}

etc_status etc_host_free(void* data) {
  return Guard([&]() -> Status {
    Device device;
    if (data == nullptr) {
      return {};
    }
    ETC_RETURN_IF_BAD(Current(&device));
    return device.driver->Check(device.driver->cuMemFreeHost(data), "cuMemFreeHost");
  });
}

etc_status etc_device_copy_to(void* to, const void* host, int64_t bytes) {
  return Guard([&]() -> Status {
    Device device;
    ETC_RETURN_IF_BAD(CheckBytes(bytes));
    if (bytes == 0) {
      return {};
    }
    ETC_NEED(to, host);
    ETC_RETURN_IF_BAD(Current(&device));
    ETC_RETURN_IF_BAD(device.driver->Check(
        device.driver->cuMemcpyHtoD_v2(Address(to), host, static_cast<size_t>(bytes)),
        "cuMemcpyHtoD"));
    // The driver may return with a small copy still on its way, which only the default stream
    // awaits.
    return device.driver->Check(device.driver->cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  });
}

etc_status etc_device_copy_from(void* host, const void* from, int64_t bytes) {
  return Guard([&]() -> Status {
    Device device;
    ETC_RETURN_IF_BAD(CheckBytes(bytes));
    if (bytes == 0) {
      return {};
    }
    ETC_NEED(host, from);
    ETC_RETURN_IF_BAD(Current(&device));
    return device.driver->Check(
        device.driver->cuMemcpyDtoH_v2(host, Address(from), static_cast<size_t>(bytes)),
        "cuMemcpyDtoH");
  });
}

etc_status etc_device_fill(void* to, uint8_t value, int64_t bytes, void* stream) {
  return Guard([&]() -> Status {
    Device device;
    ETC_RETURN_IF_BAD(CheckBytes(bytes));
    if (bytes == 0) {
      return {};
    }
    ETC_NEED(to);
    ETC_RETURN_IF_BAD(Current(&device));
    return device.driver->Check(
        device.driver->cuMemsetD8Async(Address(to), value, static_cast<size_t>(bytes),
                                       AsStream(stream)),
        "cuMemsetD8Async");
  });
}

etc_status etc_device_copy(void* to, const void* from, int64_t bytes, void* stream) {
  return Guard([&]() -> Status {
    Device device;
    ETC_RETURN_IF_BAD(CheckBytes(bytes));
    if (bytes == 0) {
      return {};
    }
    ETC_NEED(to, from);
    ETC_RETURN_IF_BAD(Current(&device));
    return device.driver->Check(
        device.driver->cuMemcpyDtoDAsync_v2(Address(to), Address(from), static_cast<size_t>(bytes),
                                            AsStream(stream)),
        "cuMemcpyDtoDAsync");
  });
}

etc_status etc_device_synchronize(void) {
  return Guard([]() -> Status {
    Device device;
    ETC_RETURN_IF_BAD(Current(&device));
    return device.driver->Check(device.driver->cuCtxSynchronize(), "cuCtxSynchronize");
  });
}

etc_status etc_timer_create(etc_timer** timer) {
  return Guard([&]() -> Status {
    ETC_NEED(timer);
    Device device;
    ETC_RETURN_IF_BAD(Current(&device));
    auto created = std::make_unique<etc_timer>();
    created->driver = device.driver;
    for (cuda::Event* event : {&created->start, &created->stop}) {
      ETC_RETURN_IF_BAD(device.driver->CheckMade(
          device.driver->cuEventCreate(event, cuda::kEventDefault), "cuEventCreate", event));
    }
    *timer = created.release();
    return {};
  });
}

void etc_timer_free(etc_timer* timer) { delete timer; }

etc_status etc_timer_start(etc_timer* timer, void* stream) {
  return Guard([&]() -> Status {
    ETC_NEED(timer);
    return Record(timer, timer->start, stream);
  });
}

etc_status etc_timer_stop(etc_timer* timer, void* stream) {
  return Guard([&]() -> Status {
    ETC_NEED(timer);
    return Record(timer, timer->stop, stream);
  });
}

etc_status etc_timer_elapsed_ms(etc_timer* timer, double* milliseconds) {
  return Guard([&]() -> Status {
    ETC_NEED(timer, milliseconds);
    const cuda::Driver& driver = *timer->driver;
    float elapsed = 0.0F;
    ETC_RETURN_IF_BAD(driver.Check(driver.cuEventSynchronize(timer->stop), "cuEventSynchronize"));
    ETC_RETURN_IF_BAD(driver.Check(driver.cuEventElapsedTime(&elapsed, timer->start, timer->stop),
                                   "cuEventElapsedTime"));
    *milliseconds = elapsed;
    return {};
  });
}
