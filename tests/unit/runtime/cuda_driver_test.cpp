// Holds the declarations of src/runtime/cuda_driver.h against the toolkit's own header.
#include "runtime/cuda_driver.h"

#include <cuda.h>
#include <doctest/doctest.h>

#include <cstddef>

namespace etc::runtime::cuda {
namespace {

static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, grid_y) == offsetof(CUlaunchConfig, gridDimY));
static_assert(offsetof(LaunchConfig, block_x) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(LaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(Memcpy3D) == sizeof(CUDA_MEMCPY3D));
static_assert(offsetof(Memcpy3D, source.memory_type) == offsetof(CUDA_MEMCPY3D, srcMemoryType));
static_assert(offsetof(Memcpy3D, source.device) == offsetof(CUDA_MEMCPY3D, srcDevice));
static_assert(offsetof(Memcpy3D, source.pitch) == offsetof(CUDA_MEMCPY3D, srcPitch));
static_assert(offsetof(Memcpy3D, source.height) == offsetof(CUDA_MEMCPY3D, srcHeight));
static_assert(offsetof(Memcpy3D, destination.memory_type) ==
              offsetof(CUDA_MEMCPY3D, dstMemoryType));
static_assert(offsetof(Memcpy3D, destination.device) == offsetof(CUDA_MEMCPY3D, dstDevice));
static_assert(offsetof(Memcpy3D, destination.pitch) == offsetof(CUDA_MEMCPY3D, dstPitch));
static_assert(offsetof(Memcpy3D, destination.height) == offsetof(CUDA_MEMCPY3D, dstHeight));
static_assert(offsetof(Memcpy3D, width_bytes) == offsetof(CUDA_MEMCPY3D, WidthInBytes));
static_assert(offsetof(Memcpy3D, depth) == offsetof(CUDA_MEMCPY3D, Depth));
static_assert(sizeof(KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS));
static_assert(offsetof(KernelNodeParams, grid_x) == offsetof(CUDA_KERNEL_NODE_PARAMS, gridDimX));
static_assert(offsetof(KernelNodeParams, block_x) == offsetof(CUDA_KERNEL_NODE_PARAMS, blockDimX));
static_assert(offsetof(KernelNodeParams, shared_bytes) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes));
static_assert(offsetof(KernelNodeParams, params) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams));
static_assert(offsetof(KernelNodeParams, context) == offsetof(CUDA_KERNEL_NODE_PARAMS, ctx));
static_assert(sizeof(IpcHandle) == sizeof(CUipcMemHandle) && sizeof(Uuid) == sizeof(CUuuid));
static_assert(sizeof(GraphEdge) == sizeof(CUgraphEdgeData));
static_assert(offsetof(GraphEdge, from_port) == offsetof(CUgraphEdgeData, from_port));
static_assert(offsetof(GraphEdge, type) == offsetof(CUgraphEdgeData, type));
static_assert(sizeof(Device) == sizeof(CUdevice) && sizeof(Result) == sizeof(CUresult));
static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));

TEST_CASE("the driver's numbers are the toolkit's") {
  CHECK(kSuccess == static_cast<int>(CUDA_SUCCESS));
  CHECK(kInvalidValue == static_cast<int>(CUDA_ERROR_INVALID_VALUE));
  CHECK(kOutOfMemory == static_cast<int>(CUDA_ERROR_OUT_OF_MEMORY));
  CHECK(kNotReady == static_cast<int>(CUDA_ERROR_NOT_READY));
  CHECK(kIpcLazyPeerAccess == static_cast<unsigned>(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  CHECK(kAttributeSms == static_cast<int>(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  CHECK(kAttributeComputeMajor == static_cast<int>(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  CHECK(kAttributeComputeMinor == static_cast<int>(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  CHECK(kAttributePageableMemory == static_cast<int>(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS));
  CHECK(kAttributeCooperativeLaunch == static_cast<int>(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH));
  CHECK(kAttributeMaxSharedOptin ==
        static_cast<int>(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  CHECK(kFunctionMaxDynamicShared ==
        static_cast<int>(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  CHECK(kPointerMemoryType == static_cast<int>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
  CHECK(kPointerOnDevice == static_cast<int>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER));
  CHECK(kPointerIsManaged == static_cast<int>(CU_POINTER_ATTRIBUTE_IS_MANAGED));
  CHECK(kPointerOrdinal == static_cast<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
  CHECK(kPointerIsLegacyIpc == static_cast<int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE));
  CHECK(kPointerRangeStart == static_cast<int>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR));
  CHECK(kPointerRangeSize == static_cast<int>(CU_POINTER_ATTRIBUTE_RANGE_SIZE));
  CHECK(kPointerAccess == static_cast<int>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS));
  CHECK(kPointerMempool == static_cast<int>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE));
  CHECK(kMemoryDevice == static_cast<int>(CU_MEMORYTYPE_DEVICE));
  CHECK(kCaptureUnsupported == static_cast<int>(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
  CHECK(kCaptureWrongThread == static_cast<int>(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD));
  CHECK(kCaptureNone == static_cast<int>(CU_STREAM_CAPTURE_STATUS_NONE));
  CHECK(kCaptureThreadLocal == static_cast<int>(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CHECK(kCaptureRelaxed == static_cast<int>(CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(kPortProgrammatic == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
  CHECK(kEdgeProgrammatic == static_cast<int>(CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC));
  CHECK(kEventDisableTiming == static_cast<unsigned>(CU_EVENT_DISABLE_TIMING));
  CHECK(kStreamNonBlocking == static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  CHECK(kMap8Bits == static_cast<int>(CU_TENSOR_MAP_DATA_TYPE_UINT8));
  CHECK(kMap16Bits == static_cast<int>(CU_TENSOR_MAP_DATA_TYPE_UINT16));
  CHECK(kMap32Bits == static_cast<int>(CU_TENSOR_MAP_DATA_TYPE_UINT32));
  CHECK(kMap64Bits == static_cast<int>(CU_TENSOR_MAP_DATA_TYPE_UINT64));
  CHECK(kMapPlain == static_cast<int>(CU_TENSOR_MAP_INTERLEAVE_NONE));
  CHECK(kMapSwizzle32 == static_cast<int>(CU_TENSOR_MAP_SWIZZLE_32B));
  CHECK(kMapSwizzle64 == static_cast<int>(CU_TENSOR_MAP_SWIZZLE_64B));
  CHECK(kMapSwizzle128 == static_cast<int>(CU_TENSOR_MAP_SWIZZLE_128B));
  CHECK(kMapPromotion256 == static_cast<int>(CU_TENSOR_MAP_L2_PROMOTION_L2_256B));
  CHECK(kMapZeros == static_cast<int>(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  CHECK(kLaunchCooperative == static_cast<int>(CU_LAUNCH_ATTRIBUTE_COOPERATIVE));
  CHECK(kLaunchProgrammatic ==
        static_cast<int>(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION));
}

}  // namespace
}  // namespace etc::runtime::cuda
