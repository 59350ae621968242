#include "runtime/device_memory.h"

#include <map>
#include <mutex>
#include <utility>

#include "runtime/allocator.h"
#include "runtime/cuda_driver.h"

namespace etc::runtime {
namespace {

/// What a caller's functions gave, who are asked for more than an address when it goes back.
struct Given {
  etc_allocator allocator;
  cuda::Context context = nullptr;
  cuda::Device device = 0;
  int64_t bytes = 0;
};
using GivenByAddress = std::map<void*, Given>;

std::mutex mutex;

/// Under the mutex. Never destroyed: objects that outlive this library's statics may hold memory.
GivenByAddress& AllGiven() {
  static auto* const all = new GivenByAddress;
  return *all;
}

struct Place {
  const cuda::Driver* driver = nullptr;
  cuda::Context context = nullptr;
  cuda::Device device = 0;
};

Status CurrentPlace(Place* place) {
  ETC_RETURN_IF_BAD(cuda::OpenDriver(&place->driver));
  return cuda::CurrentContext(*place->driver, &place->context, &place->device);
}

Status AllocateByCaller(const etc_allocator& allocator, const Place& place, int64_t bytes,
                        void** data) {
  // Made before the memory is, which then cannot be lost for want of a note.
  GivenByAddress made{{nullptr, {allocator, place.context, place.device, bytes}}};
  {
    const std::lock_guard lock(mutex);
    AllGiven();
  }
  ETC_RETURN_IF_BAD(AllocateBy(allocator, bytes, place.device, nullptr, data));
  auto note = made.extract(made.begin());
  note.key() = *data;
  const std::lock_guard lock(mutex);
  AllGiven().insert(std::move(note));
  return {};
}

/// Whether a caller's functions gave the memory, which is not theirs to give again from now on.
bool TakeGiven(void* data, Given* given) {
  const std::lock_guard lock(mutex);
  const auto found = AllGiven().find(data);
  if (found == AllGiven().end()) {
    return false;
  }
  *given = found->second;
  AllGiven().erase(found);
  return true;
}

}  // namespace

Status AllocateDeviceMemory(int64_t bytes, void** data) {
  Place place;
  ETC_RETURN_IF_BAD(CurrentPlace(&place));
  if (const std::optional<etc_allocator> allocator = CurrentAllocator()) {
    return AllocateByCaller(*allocator, place, bytes, data);
  }
  cuda::DevicePointer address = 0;
  if (const Status status = place.driver->Check(
          place.driver->cuMemAlloc_v2(&address, static_cast<size_t>(bytes)), "cuMemAlloc");
      !status.Ok()) {
    return Fail(status.code, "cannot allocate ", bytes, " bytes on device ", place.device, ": ",
                status.message);
  }
  *data = reinterpret_cast<void*>(address);
  return {};
}

Status FreeDeviceMemory(void* data) {
  Place place;
  Given given;
  ETC_RETURN_IF_BAD(CurrentPlace(&place));
  if (!TakeGiven(data, &given)) {
    return place.driver->Check(
        place.driver->cuMemFree_v2(reinterpret_cast<cuda::DevicePointer>(data)), "cuMemFree");
  }
  const cuda::ScopedContext scope(*place.driver, given.context);
  // As cuMemFree does. The memory is given back even if the work that used it failed.
  const Status ended = place.driver->Check(place.driver->cuCtxSynchronize(), "cuCtxSynchronize");
  given.allocator.release(given.allocator.user, data, given.bytes, given.device);
  return scope.status().Ok() ? ended : scope.status();
}

}  // namespace etc::runtime
