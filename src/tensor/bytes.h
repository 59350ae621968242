// The memory of a tensor on the host.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace etc {

/// Memory that starts where a kernel may want a tensor to: an allocator's few bytes need not.
template <class T>
struct LineAllocator {
  static constexpr std::align_val_t kLine{64};
  using value_type = T;

  LineAllocator() = default;
  template <class Other>
  LineAllocator(const LineAllocator<Other>&) {}

  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* memory, size_t) { ::operator delete(memory, kLine); }
  bool operator==(const LineAllocator&) const = default;
};

using Bytes = std::vector<char, LineAllocator<char>>;

}  // namespace etc
