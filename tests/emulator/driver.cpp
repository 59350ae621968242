// A libcuda.so.1 whose devices are the emulated ones: the functions that the runtime looks up. A
// binary is a shared object that nvcc.sh.in made of an emitted program. Launches on a stream of its
// own wait until somebody asks for what they do; all other work is done when a call returns, so
// events are in name only. A stream that is captured keeps its launches for graphs.
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cuda_runtime.h"
#include "machine.h"
#include "runtime/cuda_driver.h"
#include "runtime/weights/pack_job.h"
#include "runtime/weights/pack_kernel.h"

using namespace etc::runtime::cuda;

namespace {

constexpr Result kNotSupported = 801;
constexpr Result kInvalidImage = 200;
constexpr Result kInvalidHandle = 400;

char* Memory(DevicePointer address) { return reinterpret_cast<char*>(address); }

constexpr Elf64_Half kMachineOfGpus = 190;

// The only text that the runtime has compiled is that of the kernel that packs weights. Its source
// is part of this driver, and these stand for the library and the kernel.
char pack_library;
char pack_kernel;

bool IsText(const void* image) { return std::memcmp(image, ELFMAG, SELFMAG) != 0; }

Elf64_Ehdr HeaderOf(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  return header;
}

/// The bytes of an image: its table of sections stands last.
size_t ImageBytes(const void* image) {
  const Elf64_Ehdr header = HeaderOf(image);
  return header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
}

Memcpy3DSide At(const Memcpy3DSide& side, size_t line, size_t slice) {
  Memcpy3DSide moved = side;
  const size_t offset =
      ((side.z + slice) * side.height + side.y + line) * side.pitch + side.x_bytes;
  moved.host = static_cast<const char*>(side.host) + offset;
  moved.device += offset;
  return moved;
}

char* Address(const Memcpy3DSide& side) {
  return side.memory_type == kMemoryDevice ? Memory(side.device)
                                           : const_cast<char*>(static_cast<const char*>(side.host));
}

// A context is the address of one of these.
constexpr int kMostDevices = 64;
char contexts[kMostDevices];
thread_local std::vector<Context> current = {nullptr};  // the last one is

Device CurrentDevice() { return Device(reinterpret_cast<char*>(current.back()) - contexts); }

// A stream is the address of the number of its device.
bool IsOfCurrentDevice(Stream stream) {
  return stream == nullptr || *reinterpret_cast<Device*>(stream) == CurrentDevice();
}

struct Work {
  int blocks = 1;
  int threads = 1;
  size_t shared_bytes = 0;
  std::function<void()> kernel;
};

// Of streams, whoever runs them.
std::mutex launches_mutex;
std::map<Stream, std::vector<Work>> captured;  // what the streams have enqueued that are captured
thread_local int captures = 0;                 // that this thread has begun
thread_local int capture_mode = 0;             // what captures allow the thread: nothing unsafe

/// A graph and what it is instantiated to.
std::vector<Work>* AsGraph(void* graph) { return static_cast<std::vector<Work>*>(graph); }

/// Whether captures of the thread forbid it what may wait for other streams or allocates.
bool IsForbidden() { return captures > 0 && capture_mode != kCaptureRelaxed; }

bool IsCaptured(Stream stream) {
  const std::lock_guard lock(launches_mutex);
  return captured.count(stream) != 0;
}

/// Enqueues the work, or records it.
void Put(Stream stream, Work work) {
  const std::lock_guard lock(launches_mutex);
  const auto recording = captured.find(stream);
  if (recording != captured.end()) {
    recording->second.push_back(std::move(work));
  } else {
    etc::emulator::Enqueue(stream, work.blocks, work.threads, work.shared_bytes,
                           std::move(work.kernel));
  }
}

/// All units, one by one: no thread of the kernel has to do with another.
void EnqueuePacking(Stream stream, const etc::runtime::PackJob& job) {
  Put(stream, {1, 1, 0, [job] {
                 for (uint32_t unit = 0; unit < job.units; ++unit) {
                   etc::runtime::PackUnit(job, unit);
                 }
               }});
}

/// Runs what is enqueued.
Result Flush() {
  if (IsForbidden()) {
    return kCaptureUnsupported;
  }
  const std::lock_guard lock(launches_mutex);
  return etc::emulator::RunAll();
}

// The dynamic linker knows a shared object by its path, which here is the number of a file: that
// stays taken as long as the object is loaded.
std::mutex files_mutex;
std::map<Library, int> files;

}  // namespace

extern "C" {

Result cuInit(unsigned) { return kSuccess; }
Result cuGetErrorName(Result result, const char** name) {
  *name = result == cudaErrorLaunchFailure ? "CUDA_ERROR_LAUNCH_FAILED"
          : result == kNotSupported        ? "CUDA_ERROR_NOT_SUPPORTED"
          : result == kInvalidHandle       ? "CUDA_ERROR_INVALID_HANDLE"
          : result == kCaptureUnsupported  ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
                                           : "an emulated error";
  return kSuccess;
}
Result cuGetErrorString(Result result, const char** text) {
  *text = result == cudaErrorLaunchFailure ? "the emulator says above what is wrong"
          : result == kNotSupported  ? "the emulated device times no stream and exports no memory"
          : result == kInvalidHandle ? "the stream is of another device than the context"
          : result == kCaptureUnsupported ? "operation not permitted when stream is capturing"
                                          : "no text";
  return kSuccess;
}
Result cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
Result cuDeviceGetCount(int* count) {
  *count = std::min(etc::emulator::Devices(), kMostDevices);
  return kSuccess;
}
Result cuDeviceGet(Device* device, int number) {
  *device = number;
  return kSuccess;
}
Result cuDeviceGetName(char* name, int bytes, Device) {
  std::snprintf(name, size_t(bytes), "emulated device");
  return kSuccess;
}
Result cuDeviceGetAttribute(int* value, int attribute, Device) {
  switch (attribute) {
    case kAttributeSms:
      *value = etc::emulator::Sms();
      break;
    case kAttributeComputeMajor:
      *value = 9;
      break;
    case kAttributeCooperativeLaunch:
      *value = 1;
      break;
    case kAttributeMaxSharedOptin:
      *value = 232448;
      break;
    default:
      *value = 0;
  }
  return kSuccess;
}
Result cuDeviceTotalMem_v2(size_t* bytes, Device) {
  *bytes = size_t(8) << 30;
  return kSuccess;
}
Result cuDeviceGetUuid_v2(Uuid* uuid, Device device) {
  *uuid = {};
  std::memcpy(uuid->bytes, &device, sizeof(device));
  return kSuccess;
}
Result cuDevicePrimaryCtxRetain(Context* context, Device device) {
  *context = reinterpret_cast<Context>(&contexts[device]);
  return kSuccess;
}
Result cuCtxGetCurrent(Context* context) {
  *context = current.back();
  return kSuccess;
}
Result cuCtxSetCurrent(Context context) {
  current.back() = context;
  return kSuccess;
}
Result cuCtxPushCurrent_v2(Context context) {
  current.push_back(context);
  return kSuccess;
}
Result cuCtxPopCurrent_v2(Context* context) {
  *context = current.back();
  current.pop_back();
  return kSuccess;
}
Result cuCtxGetDevice(Device* device) {
  *device = CurrentDevice();
  return kSuccess;
}
Result cuCtxEnablePeerAccess(Context, unsigned) { return kSuccess; }
Result cuCtxSynchronize() { return Flush(); }

Result cuLibraryLoadData(Library* library, const void* image, int*, void**, unsigned, int*, void**,
                         unsigned) {
  if (IsText(image)) {
    *library = reinterpret_cast<Library>(&pack_library);
    return kSuccess;
  }
  if (HeaderOf(image).e_machine == kMachineOfGpus) {
    std::fprintf(stderr,
                 "emulator: the program is for a GPU; nvcc.sh makes one for the emulator\n");
    return kInvalidImage;
  }
  const size_t bytes = ImageBytes(image);
  const int file = memfd_create("etc-emulated", MFD_CLOEXEC);
  if (file < 0 || write(file, image, bytes) != ssize_t(bytes)) {
    return kInvalidImage;
  }
  void* object = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    std::fprintf(stderr, "emulator: %s\n", dlerror());
    close(file);
    return kInvalidImage;
  }
  *library = static_cast<Library>(object);
  const std::lock_guard lock(files_mutex);
  files[*library] = file;
  return kSuccess;
}
Result cuLibraryUnload(Library library) {
  if (library == reinterpret_cast<Library>(&pack_library)) {
    return kSuccess;
  }
  dlclose(library);
  const std::lock_guard lock(files_mutex);
  close(files.at(library));
  files.erase(library);
  return kSuccess;
}
Result cuLibraryGetKernel(Kernel* kernel, Library library, const char* name) {
  if (library == reinterpret_cast<Library>(&pack_library)) {
    *kernel = reinterpret_cast<Kernel>(&pack_kernel);
    return std::strcmp(name, etc::runtime::kPackKernelName) == 0 ? kSuccess : kNotFound;
  }
  void* entry = dlsym(library, (std::string("etc_emulated_") + name).c_str());
  *kernel = static_cast<Kernel>(entry);
  return entry != nullptr ? kSuccess : kNotFound;
}
Result cuKernelGetFunction(Function* function, Kernel kernel) {
  *function = reinterpret_cast<Function>(kernel);
  return kSuccess;
}
Result cuFuncSetAttribute(Function, int, int) { return kSuccess; }
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function, int, size_t) {
  *blocks = 1;
  return kSuccess;
}

Result cuMemAlloc_v2(DevicePointer* address, size_t bytes) {
  if (IsForbidden()) {
    return kCaptureUnsupported;
  }
  void* memory = etc::emulator::Allocate(bytes);
  *address = reinterpret_cast<DevicePointer>(memory);
  return memory != nullptr ? kSuccess : kOutOfMemory;
}
Result cuMemFree_v2(DevicePointer address) {
  const Result result = Flush();
  if (result != kCaptureUnsupported) {
    etc::emulator::Release(Memory(address));
  }
  return result;
}
Result cuMemHostAlloc(void** data, size_t bytes, unsigned) {
  *data = std::malloc(bytes);
  return *data != nullptr ? kSuccess : kOutOfMemory;
}
Result cuMemFreeHost(void* data) {
  std::free(data);
  return kSuccess;
}
Result cuMemHostRegister_v2(void*, size_t, unsigned) { return kSuccess; }
Result cuMemHostUnregister(void*) { return kSuccess; }
Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes, Stream) {
  const Result result = Flush();
  std::memcpy(Memory(to), from, bytes);
  return result;
}
Result cuMemcpyHtoD_v2(DevicePointer to, const void* from, size_t bytes) {
  const Result result = Flush();
  std::memcpy(Memory(to), from, bytes);
  return result;
}
Result cuMemcpyDtoH_v2(void* to, DevicePointer from, size_t bytes) {
  const Result result = Flush();
  std::memcpy(to, Memory(from), bytes);
  return result;
}
Result cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes, Stream stream) {
  if (IsCaptured(stream)) {
    Put(stream, {1, 1, 0, [=] { std::memcpy(Memory(to), Memory(from), bytes); }});
    return kSuccess;
  }
  const Result result = Flush();
  std::memcpy(Memory(to), Memory(from), bytes);
  return result;
}
Result cuMemcpy3DAsync_v2(const Memcpy3D* copy, Stream) {
  const Result result = Flush();
  for (size_t slice = 0; slice < copy->depth; ++slice) {
    for (size_t line = 0; line < copy->height; ++line) {
      std::memcpy(Address(At(copy->destination, line, slice)),
                  Address(At(copy->source, line, slice)), copy->width_bytes);
    }
  }
  return result;
}
Result cuMemsetD8Async(DevicePointer address, unsigned char byte, size_t bytes, Stream stream) {
  if (stream != nullptr) {  // behind its launches, which may wait for those of other streams
    Put(stream, {1, 1, 0, [=] { std::memset(Memory(address), byte, bytes); }});
    return kSuccess;
  }
  const Result result = Flush();
  std::memset(Memory(address), byte, bytes);
  return result;
}
Result cuPointerGetAttribute(void* value, int, DevicePointer) {
  const int type = kMemoryDevice;
  std::memcpy(value, &type, sizeof(type));
  return kSuccess;
}

/// The emulator keeps no sizes, so a range has none.
/// No range, so that a tensor is held against none.
Result cuMemGetAddressRange_v2(DevicePointer* begin, size_t* bytes, DevicePointer address) {
  *begin = address;
  *bytes = 0;
  return kSuccess;
}
Result cuPointerGetAttributes(unsigned count, int* names, void** values, DevicePointer) {
  for (unsigned i = 0; i < count; ++i) {
    const uint64_t value = names[i] == kPointerMemoryType ? kMemoryDevice : 0;
    std::memcpy(values[i], &value,
                names[i] == kPointerMemoryType || names[i] == kPointerOrdinal ? sizeof(int)
                                                                              : sizeof(value));
  }
  return kSuccess;
}
Result cuDeviceCanAccessPeer(int* can, Device, Device) {
  *can = 1;
  return kSuccess;
}

Result cuStreamCreate(Stream* stream, unsigned) {
  *stream = reinterpret_cast<Stream>(new Device(CurrentDevice()));
  return kSuccess;
}
Result cuStreamGetCtx(Stream stream, Context* context) {
  *context = stream == nullptr
                 ? current.back()
                 : reinterpret_cast<Context>(&contexts[*reinterpret_cast<Device*>(stream)]);
  return kSuccess;
}
Result cuStreamDestroy_v2(Stream stream) {
  delete reinterpret_cast<Device*>(stream);
  return kSuccess;
}
Result cuStreamBeginCapture_v2(Stream stream, int) {
  const std::lock_guard lock(launches_mutex);
  if (!captured.emplace(stream, std::vector<Work>()).second) {
    return kInvalidValue;
  }
  ++captures;
  return kSuccess;
}
Result cuStreamEndCapture(Stream stream, Graph* graph) {
  const std::lock_guard lock(launches_mutex);
  auto recording = captured.extract(stream);
  if (recording.empty()) {
    return kInvalidValue;
  }
  --captures;
  *graph = reinterpret_cast<Graph>(new std::vector<Work>(std::move(recording.mapped())));
  return kSuccess;
}
Result cuStreamIsCapturing(Stream stream, int* state) {
  *state = IsCaptured(stream) ? 1 : kCaptureNone;
  return kSuccess;
}
Result cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(capture_mode, *mode);
  return kSuccess;
}
Result cuStreamSynchronize(Stream stream) {
  return IsCaptured(stream) ? kCaptureUnsupported : Flush();
}
Result cuStreamQuery(Stream stream) { return IsCaptured(stream) ? kCaptureUnsupported : Flush(); }
// What another process runs has no part in the launches of this one.
Result cuIpcGetMemHandle(IpcHandle*, DevicePointer) { return kNotSupported; }
Result cuIpcOpenMemHandle_v2(DevicePointer*, IpcHandle, unsigned) { return kNotSupported; }
Result cuIpcCloseMemHandle(DevicePointer) { return kNotSupported; }
Result cuGraphInstantiateWithFlags(GraphExec* made, Graph graph, unsigned long long) {
  if (IsForbidden()) {
    return kCaptureUnsupported;
  }
  *made = reinterpret_cast<GraphExec>(new std::vector<Work>(*AsGraph(graph)));
  return kSuccess;
}
Result cuGraphLaunch(GraphExec graph, Stream stream) {
  if (!IsOfCurrentDevice(stream)) {
    return kInvalidHandle;
  }
  for (const Work& work : *AsGraph(graph)) {
    Put(stream, work);
  }
  return stream == nullptr ? Flush() : kSuccess;
}
Result cuGraphDestroy(Graph graph) {
  delete AsGraph(graph);
  return kSuccess;
}
Result cuGraphExecDestroy(GraphExec graph) {
  delete AsGraph(graph);
  return kSuccess;
}

Result cuTensorMapEncodeTiled(void* map, int type, uint32_t rank, void* data, const uint64_t* shape,
                              const uint64_t* strides, const uint32_t* box, const uint32_t*, int,
                              int, int, int) {
  if (rank != 3 || reinterpret_cast<uintptr_t>(map) % 64 != 0 ||
      reinterpret_cast<uintptr_t>(data) % 16 != 0 || strides[0] % 16 != 0) {
    return kInvalidValue;
  }
  etc::emulator::TiledMap tiled{};
  tiled.data = data;
  for (int axis = 0; axis < 3; ++axis) {
    tiled.shape[axis] = int64_t(shape[axis]);
  }
  for (int axis = 0; axis < 2; ++axis) {
    tiled.strides[axis] = int64_t(strides[axis]);
    tiled.box[axis] = box[axis];
  }
  tiled.element_bytes = type == kMap8Bits ? 1 : type == kMap16Bits ? 2 : type == kMap32Bits ? 4 : 8;
  std::memcpy(map, &tiled, sizeof(tiled));
  return kSuccess;
}

Result cuLaunchKernelEx(const LaunchConfig* config, Function function, void** parameters, void**) {
  if (!IsOfCurrentDevice(config->stream)) {
    return kInvalidHandle;
  }
  if (function == reinterpret_cast<Function>(&pack_kernel)) {
    EnqueuePacking(config->stream, *static_cast<const etc::runtime::PackJob*>(parameters[0]));
    return kSuccess;
  }
  const auto entry = reinterpret_cast<void (*)(void**, std::function<void()>*)>(function);
  std::function<void()> kernel;
  entry(parameters, &kernel);
  Put(config->stream,
      {int(config->grid_x), int(config->block_x), config->shared_bytes, std::move(kernel)});
  return config->stream == nullptr ? Flush() : kSuccess;
}

// An event is the address of the stream that it was recorded on.
Result cuEventCreate(Event* event, unsigned) {
  *event = reinterpret_cast<Event>(new Stream(nullptr));
  return kSuccess;
}
Result cuEventRecord(Event event, Stream stream) {
  *reinterpret_cast<Stream*>(event) = stream;
  return IsCaptured(stream) ? kSuccess : Flush();
}
Result cuEventSynchronize(Event) { return kSuccess; }
Result cuEventQuery(Event) { return kSuccess; }
Result cuEventElapsedTime(float* milliseconds, Event begin, Event) {
  *milliseconds = 0;
  return *reinterpret_cast<Stream*>(begin) == nullptr ? kSuccess : kNotSupported;
}
Result cuEventDestroy_v2(Event event) {
  delete reinterpret_cast<Stream*>(event);
  return kSuccess;
}

}  // extern "C"
