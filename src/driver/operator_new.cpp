// `new` and `delete` over malloc, which is mimalloc's, or a sanitizer's where one is preloaded. The
// operators of mimalloc itself end the process where there is no memory left: as a library in C it
// throws nothing.
#include <cstdlib>
#include <new>

namespace {

void* OrThrow(void* memory) {
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void* Aligned(size_t size, std::align_val_t alignment) {
  auto step = static_cast<size_t>(alignment);
  return OrThrow(std::aligned_alloc(step, (size + step - 1) / step * step));
}

}  // namespace

void* operator new(size_t size) { return OrThrow(std::malloc(size == 0 ? 1 : size)); }
void* operator new[](size_t size) { return ::operator new(size); }
void* operator new(size_t size, std::align_val_t alignment) { return Aligned(size, alignment); }
void* operator new[](size_t size, std::align_val_t alignment) { return Aligned(size, alignment); }

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
