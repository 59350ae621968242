// Structs of the public API that say their own size, so that a later version may add to their end.
#pragma once

#include <algorithm>
#include <cstring>

#include "runtime/status.h"

namespace etc::runtime {

/// More than any struct has: what stands in a struct that nobody set.
inline constexpr size_t kMaxStructSize = 4096;

/// A caller may have been compiled with a struct of fewer fields, or of more.
template <class Struct>
Status CheckSize(const char* name, size_t given) {
  return given > sizeof(size_t) && given <= kMaxStructSize
             ? Status{}
             : Fail(ETC_ERROR_ARGUMENT, "`", name, "->struct_size` is ", given, ", but must be ",
                    sizeof(Struct), ", the struct's size");
}

/// Fills a caller's struct, as much as it has; fields of a later version become zeros.
template <class Struct>
Status GiveSized(const char* name, Struct given, Struct* out) {
  const size_t size = out->struct_size;
  ETC_RETURN_IF_BAD(CheckSize<Struct>(name, size));
  given.struct_size = size;
  if (size > sizeof(given)) {
    std::memset(static_cast<void*>(out), 0, size);
  }
  std::memcpy(static_cast<void*>(out), &given, std::min(size, sizeof(given)));
  return {};
}

/// Takes a caller's struct; fields that it does not have are zeros.
template <class Struct>
Status TakeSized(const char* name, const Struct& given, Struct* out) {
  ETC_RETURN_IF_BAD(CheckSize<Struct>(name, given.struct_size));
  *out = Struct{};
  std::memcpy(static_cast<void*>(out), &given, std::min(given.struct_size, sizeof(given)));
  return {};
}

}  // namespace etc::runtime
