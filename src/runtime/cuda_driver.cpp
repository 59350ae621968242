#include "runtime/cuda_driver.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <new>

#include "runtime/log.h"

namespace etc::runtime::cuda {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";

Status Resolve(void* library, Driver* driver) {
#define ETC_RESOLVE(name, ...)                                                     \
  driver->name = reinterpret_cast<Result (*)(__VA_ARGS__)>(dlsym(library, #name)); \
  if (driver->name == nullptr) {                                                   \
    return Fail(ETC_ERROR_NO_DEVICE, kLibrary,                                     \
                " has no `" #name                                                  \
                "`: the CUDA driver is "                                           \
                "older than 12.0");                                                \
  }
  ETC_CUDA_FUNCTIONS(ETC_RESOLVE)
#undef ETC_RESOLVE
#define ETC_RESOLVE(name, ...) \
  driver->name = reinterpret_cast<Result (*)(__VA_ARGS__)>(dlsym(library, #name));
  ETC_CUDA_GRAPH_FUNCTIONS(ETC_RESOLVE)
#undef ETC_RESOLVE
  return {};
}

Status Open(Driver* driver) {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Fail(ETC_ERROR_NO_DEVICE, "there is no CUDA driver: ", dlerror());
  }
  Status status = Resolve(library, driver);
  if (status.Ok()) {
    status = driver->Check(driver->cuInit(0), "cuInit");
    status.code = status.Ok() ? ETC_OK : ETC_ERROR_NO_DEVICE;
  }
  if (!status.Ok()) {
    dlclose(library);
  }
  return status;
}

Status CheckThatThereIsADevice(const Driver& driver) {
  int count = 0;
  ETC_RETURN_IF_BAD(driver.Check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount"));
  return count > 0 ? Status{} : Fail(ETC_ERROR_NO_DEVICE, "the CUDA driver sees no device");
}

}  // namespace

bool Driver::MakesGraphs() const {
  bool all = true;
#define ETC_IS_THERE(name, ...) all = all && name != nullptr;
  ETC_CUDA_GRAPH_FUNCTIONS(ETC_IS_THERE)
#undef ETC_IS_THERE
  return all;
}

Status Driver::Check(Result result, const char* call) const {
  if (result == kSuccess) {
    return {};
  }
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(result, &name) != kSuccess || name == nullptr) {
    name = "an unknown error";
  }
  if (cuGetErrorString(result, &text) != kSuccess || text == nullptr) {
    text = "no description";
  }
  const etc_status status = result == kOutOfMemory ? ETC_ERROR_OUT_OF_MEMORY
                            : result >= kCaptureUnsupported && result <= kCaptureWrongThread
                                ? ETC_ERROR_CAPTURE
                                : ETC_ERROR_DEVICE;
  return Fail(status, call, " failed: ", name, " (", text, ")");
}

void Driver::Note(Result result, const char* call) const noexcept {
  if (result == kSuccess) {
    return;
  }
  try {
    LogInfo("goes on behind a failure: ", Check(result, call).message);
  } catch (const std::bad_alloc&) {
    // There is no memory for the text either.
  }
}

Status OpenDriver(const Driver** driver) {
  static std::once_flag once;
  static Driver opened;
  static Status status;
  std::call_once(once, [] {
    status = Open(&opened);
    if (status.Ok()) {
      status = CheckThatThereIsADevice(opened);
    }
  });
  *driver = &opened;
  return status;
}

Status ContextOf(const Driver& driver, int number, Context* context) {
  static std::mutex mutex;
  static std::map<int, Context> retained;
  int count = 0;
  ETC_RETURN_IF_BAD(driver.Check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount"));
  if (number < 0 || number >= count) {
    return Fail(ETC_ERROR_NO_DEVICE, "there is no device ", number, ": the CUDA driver sees ",
                count, ", counted from 0");
  }
  const std::lock_guard lock(mutex);
  Context& primary = retained[number];
  if (primary == nullptr) {
    Device device = 0;
    ETC_RETURN_IF_BAD(driver.Check(driver.cuDeviceGet(&device, number), "cuDeviceGet"));
    ETC_RETURN_IF_BAD(driver.CheckMade(driver.cuDevicePrimaryCtxRetain(&primary, device),
                                       "cuDevicePrimaryCtxRetain", &primary));
  }
  *context = primary;
  return {};
}

Status CurrentContext(const Driver& driver, Context* context, Device* device) {
  ETC_RETURN_IF_BAD(driver.Check(driver.cuCtxGetCurrent(context), "cuCtxGetCurrent"));
  if (*context == nullptr) {
    ETC_RETURN_IF_BAD(ContextOf(driver, 0, context));
    ETC_RETURN_IF_BAD(driver.Check(driver.cuCtxSetCurrent(*context), "cuCtxSetCurrent"));
  }
  return driver.Check(driver.cuCtxGetDevice(device), "cuCtxGetDevice");
}

}  // namespace etc::runtime::cuda
