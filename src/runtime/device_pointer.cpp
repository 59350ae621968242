#include "runtime/device_pointer.h"

#include <iterator>

namespace etc::runtime {
namespace {

/// What the driver says of an address. Each attribute has eight bytes of room: the driver documents
/// some as booleans without their size.
struct Attributes {
  uint64_t memory_type = 0;  // 0: CUDA knows nothing of the address
  uint64_t is_managed = 0;
  uint64_t ordinal = 0;
  uint64_t is_legacy = 0;  // of cuMemAlloc: one allocation, one range
  uint64_t begin = 0;
  uint64_t bytes = 0;  // of the allocation, or of a mapping
  uint64_t pool = 0;

  uint64_t End() const { return begin + bytes; }
  /// Whether what follows may belong to it: mappings that a caller put side by side.
  bool MayContinue() const { return is_managed == 0 && is_legacy == 0 && pool == 0; }
  bool IsOfADevice() const {
    return static_cast<uint32_t>(memory_type) == cuda::kMemoryDevice && is_managed == 0;
  }
};

Status Ask(const cuda::Driver& driver, cuda::DevicePointer address, Attributes* attributes) {
  int names[] = {cuda::kPointerMemoryType,  cuda::kPointerIsManaged,  cuda::kPointerOrdinal,
                 cuda::kPointerIsLegacyIpc, cuda::kPointerRangeStart, cuda::kPointerRangeSize,
                 cuda::kPointerMempool};
  void* values[] = {&attributes->memory_type, &attributes->is_managed, &attributes->ordinal,
                    &attributes->is_legacy,   &attributes->begin,      &attributes->bytes,
                    &attributes->pool};
  static_assert(std::size(names) == std::size(values));
  ETC_RETURN_IF_BAD(
      driver.Check(driver.cuPointerGetAttributes(std::size(names), names, values, address),
                   "cuPointerGetAttributes"));
  // Of addresses that cuMemAddressReserve gave, the attributes have the whole range, mapped or not.
  if (attributes->IsOfADevice() && attributes->MayContinue()) {
    size_t bytes = 0;
    if (driver.cuMemGetAddressRange_v2(&attributes->begin, &bytes, address) != cuda::kSuccess) {
      attributes->memory_type = 0;
    }
    attributes->bytes = bytes;
  }
  return {};
}

/// Memory of another device: reached over NVLink or PCIe, once that is enabled.
Status CheckPeer(const DeviceView& view, const void* data, const Attributes& attributes) {
  const auto owner = static_cast<cuda::Device>(static_cast<uint32_t>(attributes.ordinal));
  if (!attributes.IsOfADevice() || owner == view.device) {
    return {};
  }
  const cuda::Driver& driver = *view.driver;
  // Of memory that is not mapped by the caller the driver always says that it may be accessed; but
  // it gives no address for kernels of a context that cannot.
  const bool mapped = attributes.MayContinue();
  uint64_t answer = 0;
  const cuda::Result result =
      driver.cuPointerGetAttribute(&answer, mapped ? cuda::kPointerAccess : cuda::kPointerOnDevice,
                                   reinterpret_cast<cuda::DevicePointer>(data));
  if (result == cuda::kSuccess && answer != 0) {
    return {};
  }
  int possible = 0;
  ETC_RETURN_IF_BAD(driver.Check(driver.cuDeviceCanAccessPeer(&possible, view.device, owner),
                                 "cuDeviceCanAccessPeer"));
  if (possible == 0) {
    return Fail(ETC_ERROR_BIND, "is at ", data, ", memory of device ", owner, ", which device ",
                view.device, " cannot access");
  }
  // A driver that does not say whether the access is enabled gets the benefit of the doubt.
  return mapped && result != cuda::kSuccess
             ? Status{}
             : Fail(ETC_ERROR_BIND, "is at ", data, ", memory of device ", owner,
                    ", and the access of device ", view.device,
                    " to it is not enabled (cuCtxEnablePeerAccess, cuMemPoolSetAccess, "
                    "cuMemSetAccess)");
}

}  // namespace

Status CheckDevicePointer(const DeviceView& view, const void* data, int64_t bytes) {
  const auto begin = reinterpret_cast<cuda::DevicePointer>(data);
  const cuda::DevicePointer end = begin + static_cast<uint64_t>(bytes);
  Attributes attributes;
  ETC_RETURN_IF_BAD(Ask(*view.driver, begin, &attributes));
  if (attributes.memory_type == 0) {
    return view.reaches_pageable
               ? Status{}
               : Fail(ETC_ERROR_BIND, "is at ", data, ", which the device cannot reach");
  }
  ETC_RETURN_IF_BAD(CheckPeer(view, data, attributes));
  // Where the driver gives no range there is nothing to hold the tensor against.
  while (attributes.bytes != 0 && attributes.End() < end) {
    const cuda::DevicePointer reached = attributes.End();
    const bool may_continue = attributes.MayContinue();
    attributes = {};
    if (may_continue) {
      ETC_RETURN_IF_BAD(Ask(*view.driver, reached, &attributes));
    }
    if (attributes.memory_type == 0 || !attributes.MayContinue()) {
      return Fail(ETC_ERROR_BIND, "is at ", data, ", where its allocation has ", reached - begin,
                  " bytes left, but it needs ", bytes);
    }
    ETC_RETURN_IF_BAD(CheckPeer(view, reinterpret_cast<const void*>(reached), attributes));
  }
  return {};
}

}  // namespace etc::runtime
