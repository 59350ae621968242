// `new` over mimalloc, whose own operators end the process where there is no memory left: as a
// library in C it throws nothing.
#include <mimalloc.h>

#include <new>

namespace {

void* OrThrow(void* memory) {
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

void* operator new(size_t size) { return OrThrow(mi_malloc(size)); }

void* operator new[](size_t size) { return OrThrow(mi_malloc(size)); }

void* operator new(size_t size, std::align_val_t alignment) {
  return OrThrow(mi_malloc_aligned(size, static_cast<size_t>(alignment)));
}

void* operator new[](size_t size, std::align_val_t alignment) {
  return OrThrow(mi_malloc_aligned(size, static_cast<size_t>(alignment)));
}
