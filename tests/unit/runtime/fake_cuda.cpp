#include "fake_cuda.h"

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <list>

#include "fake_cuda_failures.h"
#include "runtime/cuda_driver.h"
#include "runtime/weights/pack_job.h"
#include "runtime/weights/pack_kernel.h"

namespace {

using etc::test::EnqueueFakeWork;
using etc::test::FakeCuda;
using etc::test::FakeMemory;
namespace cuda = etc::runtime::cuda;

FakeCuda state;
std::list<std::string> images;   // a library is the address of its image
std::list<std::string> entries;  // a kernel is the address of its name
char primaries[8];               // of each device
std::vector<void*> pushed;

void* Pointer(cuda::DevicePointer address) { return reinterpret_cast<void*>(address); }

/// A test's own context is one of device 0.
int DeviceOf(void* context) {
  const auto* own = static_cast<char*>(context);
  return own > primaries && own < std::end(primaries) ? static_cast<int>(own - primaries) : 0;
}

/// The memory at an address; no bytes where there is none.
struct Found {
  cuda::DevicePointer begin = 0;
  FakeMemory memory;
};

Found Find(cuda::DevicePointer address) {
  Found found;
  const auto take = [&](void* data, const FakeMemory& memory) {
    const auto begin = reinterpret_cast<cuda::DevicePointer>(data);
    if (address >= begin && address < begin + memory.bytes) {
      found = {begin, memory};
    }
  };
  for (const auto& [data, bytes] : state.allocations) {
    take(data, {bytes, 2, 0, true});
  }
  for (const auto& [data, memory] : state.memory) {
    take(data, memory);
  }
  return found;
}

}  // namespace

int etc::test::CurrentFakeDevice() { return DeviceOf(state.current); }

extern "C" {

FakeCuda* etc_fake_cuda() { return &state; }

cuda::Result cuInit(unsigned) { return cuda::kSuccess; }
cuda::Result cuGetErrorName(cuda::Result, const char** name) {
  *name = "CUDA_ERROR_FAKE";
  return cuda::kSuccess;
}
cuda::Result cuGetErrorString(cuda::Result, const char** text) {
  *text = "as the test wants it";
  return cuda::kSuccess;
}
cuda::Result cuDriverGetVersion(int* version) {
  *version = 13000;
  return cuda::kSuccess;
}
cuda::Result cuDeviceGetCount(int* count) {
  *count = state.devices;
  return cuda::kSuccess;
}
cuda::Result cuDeviceGet(cuda::Device* device, int ordinal) {
  *device = ordinal;
  return cuda::kSuccess;
}
cuda::Result cuDeviceGetName(char* name, int size, cuda::Device) {
  std::strncpy(name, "Fake", static_cast<size_t>(size));
  return cuda::kSuccess;
}
cuda::Result cuDeviceGetAttribute(int* value, int attribute, cuda::Device) {
  const std::map<int, int> values = {{cuda::kAttributeSms, state.sms},
                                     {cuda::kAttributeComputeMajor, state.major},
                                     {cuda::kAttributeComputeMinor, state.minor},
                                     {cuda::kAttributePageableMemory, 0},
                                     {cuda::kAttributeCooperativeLaunch, 1},
                                     {cuda::kAttributeMaxSharedOptin, state.max_shared}};
  *value = values.at(attribute);
  return cuda::kSuccess;
}
cuda::Result cuDeviceTotalMem_v2(size_t* bytes, cuda::Device) {
  *bytes = size_t{1} << 37;
  return cuda::kSuccess;
}
cuda::Result cuDevicePrimaryCtxRetain(void** context, cuda::Device device) {
  *context = &state;  // the driver leaves something there when it fails
  FAIL_IF_ASKED
  ++state.primaries;
  *context = &primaries[device];
  return cuda::kSuccess;
}
cuda::Result cuCtxGetCurrent(void** context) {
  *context = state.current;
  return cuda::kSuccess;
}
cuda::Result cuStreamGetCtx(void* stream, void** context) {
  const auto found = state.device_of.find(stream);
  if (found == state.device_of.end()) {
    return cuda::kInvalidValue;
  }
  *context = &primaries[found->second];
  return cuda::kSuccess;
}
cuda::Result cuCtxSetCurrent(void* context) {
  state.current = context;
  return cuda::kSuccess;
}
cuda::Result cuCtxPushCurrent_v2(void* context) {
  pushed.push_back(state.current);
  state.current = context;
  state.context_depth = static_cast<int>(pushed.size());
  return cuda::kSuccess;
}
cuda::Result cuCtxPopCurrent_v2(void** context) {
  *context = state.current;
  state.current = pushed.back();
  pushed.pop_back();
  state.context_depth = static_cast<int>(pushed.size());
  return cuda::kSuccess;
}
cuda::Result cuCtxGetDevice(cuda::Device* device) {
  *device = DeviceOf(state.current);
  return cuda::kSuccess;
}
cuda::Result cuCtxEnablePeerAccess(void* peer, unsigned) {
  FAIL_IF_ASKED
  state.accesses.emplace_back(DeviceOf(state.current), DeviceOf(peer));
  return cuda::kSuccess;
}
cuda::Result cuCtxSynchronize() {
  FAIL_IF_ASKED
  return cuda::kSuccess;
}
cuda::Result cuLibraryLoadData(void** library, const void* code, int*, void**, unsigned, int*,
                               void**, unsigned) {
  FAIL_IF_ASKED
  ++state.libraries;
  *library = &images.emplace_back(static_cast<const char*>(code));
  return cuda::kSuccess;
}
cuda::Result cuLibraryUnload(void*) {
  --state.libraries;
  return cuda::kSuccess;
}
cuda::Result cuLibraryGetKernel(void** kernel, void* library, const char* name) {
  FAIL_IF_ASKED
  if (static_cast<std::string*>(library)->find(name) == std::string::npos) {
    return cuda::kNotFound;
  }
  *kernel = &entries.emplace_back(name);
  return cuda::kSuccess;
}
cuda::Result cuKernelGetFunction(void** function, void* kernel) {
  *function = kernel;
  return cuda::kSuccess;
}
cuda::Result cuFuncSetAttribute(void*, int, int) {
  FAIL_IF_ASKED
  return cuda::kSuccess;
}
cuda::Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, size_t) {
  *blocks = state.resident_blocks;
  return cuda::kSuccess;
}
cuda::Result cuMemAlloc_v2(cuda::DevicePointer* address, size_t bytes) {
  FAIL_IF_ASKED
  if (bytes > state.capacity) {
    return cuda::kOutOfMemory;
  }
  state.capacity -= bytes;
  void* data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(data, 0xee, bytes);
  state.allocations[data] = bytes;
  *address = reinterpret_cast<cuda::DevicePointer>(data);
  return cuda::kSuccess;
}
cuda::Result cuMemFree_v2(cuda::DevicePointer address) {
  FAIL_IF_ASKED
  const auto found = state.allocations.find(Pointer(address));
  if (found == state.allocations.end()) {
    return cuda::kInvalidValue;
  }
  state.capacity += found->second;
  state.allocations.erase(found);
  std::free(Pointer(address));
  return cuda::kSuccess;
}
cuda::Result cuMemHostAlloc(void** data, size_t bytes, unsigned) {
  FAIL_IF_ASKED
  *data = std::malloc(bytes);
  ++state.pinned;
  return cuda::kSuccess;
}
cuda::Result cuMemFreeHost(void* data) {
  std::free(data);
  --state.pinned;
  return cuda::kSuccess;
}
cuda::Result cuMemcpyHtoD_v2(cuda::DevicePointer to, const void* from, size_t bytes) {
  std::memcpy(Pointer(to), from, bytes);
  return cuda::kSuccess;
}
cuda::Result cuMemcpyDtoH_v2(void* to, cuda::DevicePointer from, size_t bytes) {
  std::memcpy(to, Pointer(from), bytes);
  return cuda::kSuccess;
}
cuda::Result cuMemcpyDtoDAsync_v2(cuda::DevicePointer to, cuda::DevicePointer from, size_t bytes,
                                  void* stream) {
  FAIL_IF_ASKED
  std::memmove(Pointer(to), Pointer(from), bytes);
  state.copies.push_back(stream);
  return cuda::kSuccess;
}
cuda::Result cuMemcpy3DAsync_v2(const cuda::Memcpy3D* copy, void* stream) {
  FAIL_IF_ASKED
  const auto& from = copy->source;
  const auto& to = copy->destination;
  if (from.memory_type != 2 || to.memory_type != 2 || from.pitch < copy->width_bytes ||
      to.pitch < copy->width_bytes || from.height < copy->height || to.height < copy->height) {
    return cuda::kInvalidValue;
  }
  for (size_t z = 0; z < copy->depth; ++z) {
    for (size_t y = 0; y < copy->height; ++y) {
      std::memcpy(Pointer(to.device + (z * to.height + y) * to.pitch),
                  Pointer(from.device + (z * from.height + y) * from.pitch), copy->width_bytes);
    }
  }
  state.copies.push_back(stream);
  return cuda::kSuccess;
}
cuda::Result cuMemsetD8Async(cuda::DevicePointer to, unsigned char value, size_t bytes,
                             void* stream) {
  FAIL_IF_ASKED
  std::memset(Pointer(to), value, bytes);
  state.memsets.push_back({Pointer(to), value, bytes, stream});
  return cuda::kSuccess;
}
cuda::Result cuMemGetAddressRange_v2(cuda::DevicePointer* begin, size_t* bytes,
                                     cuda::DevicePointer address) {
  FAIL_IF_ASKED
  const Found found = Find(address);
  if (found.memory.bytes == 0) {
    return cuda::kInvalidValue;
  }
  *begin = found.begin;
  *bytes = found.memory.bytes;
  return cuda::kSuccess;
}
cuda::Result cuPointerGetAttribute(void* value, int name, cuda::DevicePointer address) {
  FAIL_IF_ASKED
  const Found found = Find(address);
  if (found.memory.bytes == 0) {
    return cuda::kInvalidValue;
  }
  if (name == cuda::kPointerOnDevice) {
    std::memcpy(value, &address, sizeof(address));
    return found.memory.access != 0 ? cuda::kSuccess : cuda::kInvalidValue;
  }
  // As drivers do, whatever the access to memory of cuMemAlloc.
  const int access = found.memory.is_legacy ? 3 : found.memory.access;
  const int answer = name == cuda::kPointerAccess ? access : found.memory.ordinal;
  std::memcpy(value, &answer, sizeof(answer));
  return cuda::kSuccess;
}
cuda::Result cuPointerGetAttributes(unsigned count, int* names, void** values,
                                    cuda::DevicePointer address) {
  FAIL_IF_ASKED
  const Found found = Find(address);
  const std::map<int, uint64_t> known = {
      {cuda::kPointerMemoryType, static_cast<uint64_t>(found.memory.type)},
      {cuda::kPointerIsManaged, found.memory.is_managed ? 1 : 0},
      {cuda::kPointerOrdinal, static_cast<uint64_t>(found.memory.ordinal)},
      {cuda::kPointerIsLegacyIpc, found.memory.is_legacy ? 1 : 0},
      {cuda::kPointerRangeStart, found.begin},
      {cuda::kPointerRangeSize, found.memory.bytes + found.memory.reserved},
      {cuda::kPointerMempool, 0}};
  for (unsigned i = 0; i < count; ++i) {
    const uint64_t value = found.memory.bytes == 0 ? 0 : known.at(names[i]);
    const bool is_int = names[i] == cuda::kPointerMemoryType || names[i] == cuda::kPointerOrdinal;
    std::memcpy(values[i], &value, is_int ? sizeof(int) : sizeof(value));
  }
  return cuda::kSuccess;
}
cuda::Result cuDeviceCanAccessPeer(int* can, cuda::Device, cuda::Device) {
  *can = state.peers_can_access ? 1 : 0;
  return cuda::kSuccess;
}
// A handle is the address, so it is good in this process only.
cuda::Result cuIpcGetMemHandle(cuda::IpcHandle* handle, cuda::DevicePointer address) {
  FAIL_IF_ASKED
  *handle = {};
  std::memcpy(handle->bytes, &address, sizeof(address));
  return cuda::kSuccess;
}
cuda::Result cuIpcOpenMemHandle_v2(cuda::DevicePointer* address, cuda::IpcHandle handle,
                                   unsigned flags) {
  FAIL_IF_ASKED
  std::memcpy(address, handle.bytes, sizeof(*address));
  state.imported.insert(Pointer(*address));
  return flags == cuda::kIpcLazyPeerAccess ? cuda::kSuccess : cuda::kInvalidValue;
}
cuda::Result cuIpcCloseMemHandle(cuda::DevicePointer address) {
  state.imported.erase(state.imported.find(Pointer(address)));
  return cuda::kSuccess;
}
cuda::Result cuDeviceGetUuid_v2(cuda::Uuid* uuid, cuda::Device device) {
  FAIL_IF_ASKED
  *uuid = {};
  std::memcpy(uuid->bytes, &device, sizeof(device));
  return cuda::kSuccess;
}
cuda::Result cuLaunchKernelEx(const cuda::LaunchConfig* config, void* function, void** params,
                              void**) {
  FAIL_IF_ASKED
  if (!etc::test::IsOfCurrentDevice(config->stream)) {
    return etc::test::kInvalidHandle;
  }
  const auto* words = static_cast<const uint64_t*>(params[0]);
  state.launches.push_back(
      {*static_cast<std::string*>(function),
       config->grid_x,
       config->block_x,
       config->shared_bytes,
       config->attribute_count == 1 && config->attributes[0].id == cuda::kLaunchCooperative &&
           config->attributes[0].value.cooperative == 1,
       config->attribute_count == 1 && config->attributes[0].id == cuda::kLaunchProgrammatic &&
           config->attributes[0].value.programmatic == 1,
       config->stream,
       {words, words + state.block_words}});
  if (*static_cast<std::string*>(function) == etc::runtime::kPackKernelName) {
    const auto job = *static_cast<const etc::runtime::PackJob*>(params[0]);
    EnqueueFakeWork(config->stream, false, [job] {
      for (uint32_t unit = 0; unit < job.units; ++unit) {
        etc::runtime::PackUnit(job, unit);
      }
    });
  }
  return cuda::kSuccess;
}
cuda::Result cuTensorMapEncodeTiled(void* map, int type, uint32_t rank, void* data,
                                    const uint64_t* shape, const uint64_t* strides,
                                    const uint32_t* box, const uint32_t*, int, int swizzle, int,
                                    int) {
  FAIL_IF_ASKED
  state.tensor_maps.push_back({reinterpret_cast<uint64_t>(data),
                               type,
                               swizzle,
                               {shape, shape + rank},
                               {strides, strides + rank - 1},
                               {box, box + rank}});
  *static_cast<uint64_t*>(map) = state.tensor_maps.size();
  return cuda::kSuccess;
}
}  // extern "C"
