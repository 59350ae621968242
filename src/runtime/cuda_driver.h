// The few types, numbers and functions of the CUDA driver API that the runtime uses, declared here
// so that building needs no toolkit and loading needs no driver: libcuda.so.1 is opened at run
// time. tests/unit/runtime/cuda_driver_test.cpp holds them against cuda.h where there is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/status.h"

namespace etc::runtime::cuda {

using Result = int;
using Device = int;
using DevicePointer = uint64_t;
using Context = struct ContextHandle*;
using Library = struct LibraryHandle*;
using Kernel = struct KernelHandle*;
using Function = struct FunctionHandle*;
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;
using Graph = struct GraphHandle*;
using GraphNode = struct GraphNodeHandle*;
using GraphExec = struct GraphExecHandle*;

inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNotFound = 500;
inline constexpr Result kNotReady = 600;
inline constexpr Result kPeerAccessAlreadyEnabled = 704;
inline constexpr Result kCaptureUnsupported = 900;  // the first of what a capture does not allow
inline constexpr Result kCaptureWrongThread = 908;  // the last

inline constexpr int kAttributeSms = 16;
inline constexpr int kAttributeComputeMajor = 75;
inline constexpr int kAttributeComputeMinor = 76;
inline constexpr int kAttributePageableMemory = 88;
inline constexpr int kAttributeCooperativeLaunch = 95;
inline constexpr int kAttributeMaxSharedOptin = 97;

inline constexpr unsigned kIpcLazyPeerAccess = 1;
inline constexpr int kFunctionMaxDynamicShared = 8;
inline constexpr int kPointerMemoryType = 2;
inline constexpr int kPointerOnDevice = 3;  // where kernels of the current context reach it
inline constexpr int kPointerIsManaged = 8;
inline constexpr int kPointerOrdinal = 9;
inline constexpr int kPointerIsLegacyIpc = 10;
inline constexpr int kPointerRangeStart = 11;
inline constexpr int kPointerRangeSize = 12;
inline constexpr int kPointerAccess = 16;
inline constexpr int kPointerMempool = 17;
inline constexpr int kMemoryDevice = 2;
inline constexpr int kCaptureNone = 0;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr int kCaptureRelaxed = 2;
inline constexpr unsigned char kPortProgrammatic =
    1;  // of a kernel node: its CTAs let the next start
inline constexpr unsigned char kEdgeProgrammatic = 1;
inline constexpr unsigned kStreamDefault = 0;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr int kLaunchCooperative = 2;
inline constexpr int kLaunchProgrammatic = 6;  // programmatic stream serialization

// Of tensor maps: elements by their size, the order of pieces in shared memory, how much L2 fetches
// at once, and what is outside of the tensor.
inline constexpr int kMap8Bits = 0;
inline constexpr int kMap16Bits = 1;
inline constexpr int kMap32Bits = 2;
inline constexpr int kMap64Bits = 4;
inline constexpr int kMapPlain = 0;
inline constexpr int kMapNoSwizzle = 0;
inline constexpr int kMapSwizzle32 = 1;
inline constexpr int kMapSwizzle64 = 2;
inline constexpr int kMapSwizzle128 = 3;
inline constexpr int kMapPromotion256 = 3;
inline constexpr int kMapZeros = 0;

/// Memory as another process knows it.
struct IpcHandle {
  char bytes[64];
};

/// What tells devices of a machine apart.
struct Uuid {
  char bytes[16];
};

struct LaunchAttribute {
  int id;
  union alignas(8) {
    char pad[64];
    int cooperative;
    int programmatic;
  } value;
};

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct KernelNodeParams {
  Function function;
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  void** params;
  void** extra;
  Kernel kernel;    // unused, as the function is given
  Context context;  // likewise
};

struct GraphEdge {
  unsigned char from_port, to_port, type;
  unsigned char reserved[5];
};

/// One side of a copy of three dimensions; the arrays and the offsets stay unused.
struct Memcpy3DSide {
  size_t x_bytes, y, z, level;
  int memory_type;
  const void* host;
  DevicePointer device;
  void* array;
  void* reserved;
  size_t pitch;   // bytes from line to line
  size_t height;  // lines from slice to slice
};

struct Memcpy3D {
  Memcpy3DSide source, destination;
  size_t width_bytes, height, depth;
};

/// The functions, by their names in libcuda.so.1. The libraries of cuLibraryLoadData belong to no
/// context, so one program serves every device.
#define ETC_CUDA_FUNCTIONS(F)                                                                 \
  F(cuInit, unsigned)                                                                         \
  F(cuGetErrorName, Result, const char**)                                                     \
  F(cuGetErrorString, Result, const char**)                                                   \
  F(cuDriverGetVersion, int*)                                                                 \
  F(cuDeviceGetCount, int*)                                                                   \
  F(cuDeviceGet, Device*, int)                                                                \
  F(cuDeviceGetName, char*, int, Device)                                                      \
  F(cuDeviceGetAttribute, int*, int, Device)                                                  \
  F(cuDeviceTotalMem_v2, size_t*, Device)                                                     \
  F(cuDeviceGetUuid_v2, Uuid*, Device)                                                        \
  F(cuDeviceCanAccessPeer, int*, Device, Device)                                              \
  F(cuDevicePrimaryCtxRetain, Context*, Device)                                               \
  F(cuCtxGetCurrent, Context*)                                                                \
  F(cuCtxSetCurrent, Context)                                                                 \
  F(cuCtxPushCurrent_v2, Context)                                                             \
  F(cuCtxPopCurrent_v2, Context*)                                                             \
  F(cuCtxGetDevice, Device*)                                                                  \
  F(cuCtxEnablePeerAccess, Context, unsigned)                                                 \
  F(cuCtxSynchronize)                                                                         \
  F(cuLibraryLoadData, Library*, const void*, int*, void**, unsigned, int*, void**, unsigned) \
  F(cuLibraryUnload, Library)                                                                 \
  F(cuLibraryGetKernel, Kernel*, Library, const char*)                                        \
  F(cuKernelGetFunction, Function*, Kernel)                                                   \
  F(cuFuncSetAttribute, Function, int, int)                                                   \
  F(cuOccupancyMaxActiveBlocksPerMultiprocessor, int*, Function, int, size_t)                 \
  F(cuMemAlloc_v2, DevicePointer*, size_t)                                                    \
  F(cuMemFree_v2, DevicePointer)                                                              \
  F(cuMemHostAlloc, void**, size_t, unsigned)                                                 \
  F(cuMemFreeHost, void*)                                                                     \
  F(cuMemHostRegister_v2, void*, size_t, unsigned)                                            \
  F(cuMemHostUnregister, void*)                                                               \
  F(cuMemcpyHtoD_v2, DevicePointer, const void*, size_t)                                      \
  F(cuMemcpyHtoDAsync_v2, DevicePointer, const void*, size_t, Stream)                         \
  F(cuMemcpyDtoH_v2, void*, DevicePointer, size_t)                                            \
  F(cuMemcpyDtoDAsync_v2, DevicePointer, DevicePointer, size_t, Stream)                       \
  F(cuMemcpy3DAsync_v2, const Memcpy3D*, Stream)                                              \
  F(cuMemsetD8Async, DevicePointer, unsigned char, size_t, Stream)                            \
  F(cuMemGetAddressRange_v2, DevicePointer*, size_t*, DevicePointer)                          \
  F(cuPointerGetAttribute, void*, int, DevicePointer)                                         \
  F(cuPointerGetAttributes, unsigned, int*, void**, DevicePointer)                            \
  F(cuStreamCreate, Stream*, unsigned)                                                        \
  F(cuStreamDestroy_v2, Stream)                                                               \
  F(cuStreamBeginCapture_v2, Stream, int)                                                     \
  F(cuStreamEndCapture, Stream, Graph*)                                                       \
  F(cuStreamIsCapturing, Stream, int*)                                                        \
  F(cuStreamGetCtx, Stream, Context*)                                                         \
  F(cuThreadExchangeStreamCaptureMode, int*)                                                  \
  F(cuStreamSynchronize, Stream)                                                              \
  F(cuStreamQuery, Stream)                                                                    \
  F(cuIpcGetMemHandle, IpcHandle*, DevicePointer)                                             \
  F(cuIpcOpenMemHandle_v2, DevicePointer*, IpcHandle, unsigned)                               \
  F(cuIpcCloseMemHandle, DevicePointer)                                                       \
  F(cuGraphInstantiateWithFlags, GraphExec*, Graph, unsigned long long)                       \
  F(cuGraphLaunch, GraphExec, Stream)                                                         \
  F(cuGraphDestroy, Graph)                                                                    \
  F(cuGraphExecDestroy, GraphExec)                                                            \
  F(cuTensorMapEncodeTiled, void*, int, uint32_t, void*, const uint64_t*, const uint64_t*,    \
    const uint32_t*, const uint32_t*, int, int, int, int)                                     \
  F(cuLaunchKernelEx, const LaunchConfig*, Function, void**, void**)                          \
  F(cuEventCreate, Event*, unsigned)                                                          \
  F(cuEventRecord, Event, Stream)                                                             \
  F(cuEventSynchronize, Event)                                                                \
  F(cuEventQuery, Event)                                                                      \
  F(cuEventElapsedTime, float*, Event, Event)                                                 \
  F(cuEventDestroy_v2, Event)

/// Of these a driver may lack some: cuGraphAddDependencies_v2 came with 12.3.
#define ETC_CUDA_GRAPH_FUNCTIONS(F)                                                                \
  F(cuGraphCreate, Graph*, unsigned)                                                               \
  F(cuGraphAddKernelNode_v2, GraphNode*, Graph, const GraphNode*, size_t, const KernelNodeParams*) \
  F(cuGraphAddDependencies_v2, Graph, const GraphNode*, const GraphNode*, const GraphEdge*,        \
    size_t)                                                                                        \
  F(cuGraphExecKernelNodeSetParams_v2, GraphExec, GraphNode, const KernelNodeParams*)

struct Driver {
#define ETC_DECLARE(name, ...) Result (*name)(__VA_ARGS__) = nullptr;
  ETC_CUDA_FUNCTIONS(ETC_DECLARE)
  ETC_CUDA_GRAPH_FUNCTIONS(ETC_DECLARE)
#undef ETC_DECLARE

  /// Whether it has all functions to make a graph of launches.
  bool MakesGraphs() const;

  /// Good for kSuccess, else an error that names the call and what the driver says of it.
  Status Check(Result result, const char* call) const;

  /// For what gives something back, where a failure has nobody to be told: the log has it.
  void Note(Result result, const char* call) const noexcept;

  /// The same as Check of a call that makes something: after a failure `made` is null, whatever the
  /// driver has left there, so that it is made anew.
  template <class Handle>
  Status CheckMade(Result result, const char* call, Handle* made) const {
    if (result != kSuccess) {
      *made = nullptr;
    }
    return Check(result, call);
  }
};

/// The driver, opened and initialised once for the process; it is never closed.
Status OpenDriver(const Driver** driver);

/// The primary context of the device of that number, retained once and kept.
Status ContextOf(const Driver& driver, int number, Context* context);

/// Makes sure that a context is current (the primary one of device 0 where there was none) and
/// gives it with its device.
Status CurrentContext(const Driver& driver, Context* context, Device* device);

/// Makes a context current for a scope.
class ScopedContext {
 public:
  ScopedContext(const Driver& driver, Context context)
      : driver_(driver),
        status_(driver.Check(driver.cuCtxPushCurrent_v2(context), "cuCtxPushCurrent")) {}
  ~ScopedContext() {
    if (status_.Ok()) {
      Context popped = nullptr;
      driver_.cuCtxPopCurrent_v2(&popped);
    }
  }
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;

  const Status& status() const { return status_; }

 private:
  const Driver& driver_;
  Status status_;
};

/// Lets the thread do, for a scope, what a capture would forbid it: that of another stream in the
/// same thread, or one elsewhere in the process.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver)
      : driver_(driver), relaxed_(driver_.cuThreadExchangeStreamCaptureMode(&mode_) == kSuccess) {}
  ~RelaxedCapture() {
    if (relaxed_) {
      driver_.cuThreadExchangeStreamCaptureMode(&mode_);
    }
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const Driver& driver_;
  int mode_ = kCaptureRelaxed;
  bool relaxed_;
};

}  // namespace etc::runtime::cuda
