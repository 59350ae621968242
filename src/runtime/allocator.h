// Who gives instances their memory: the caller's functions (etc_set_allocator), or the library.
#pragma once

#include <optional>

#include "etc/runtime.h"
#include "runtime/status.h"

namespace etc::runtime {

/// Of instances that are made from now on.
Status SetAllocator(const etc_allocator* allocator);
std::optional<etc_allocator> CurrentAllocator();

/// Memory of the caller's functions, aligned as instances need it.
Status AllocateBy(const etc_allocator& allocator, int64_t bytes, int32_t device, void* stream,
                  void** data);

}  // namespace etc::runtime
