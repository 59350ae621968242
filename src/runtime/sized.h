// Structs of the public API that say their own size, so that a later version may add to their end.
#pragma once

#include <algorithm>
#include <cstring>

#include "runtime/status.h"

namespace etc::runtime {

/// More than any struct has: what stands in a struct that nobody set.
inline constexpr size_t kMaxStructSize = 4096;

template <class Struct>
Status CheckSize(const char* name, size_t given) {
  return given >= sizeof(Struct) && given <= kMaxStructSize
             ? Status{}
             : Fail(ETC_ERROR_ARGUMENT, "`", name, "->struct_size` is ", given, ", but must be ",
                    sizeof(Struct), ", the struct's size");
}

/// Fills a caller's struct, which may be of a later version with more fields: those become zeros.
template <class Struct>
Status GiveSized(const char* name, Struct given, Struct* out) {
  const size_t size = out->struct_size;
  ETC_RETURN_IF_BAD(CheckSize<Struct>(name, size));
  given.struct_size = size;
  std::memset(static_cast<void*>(out), 0, size);
  std::memcpy(static_cast<void*>(out), &given, sizeof(given));
  return {};
}

/// Takes a caller's struct, of which a later version may have more fields.
template <class Struct>
Status TakeSized(const char* name, const Struct& given, Struct* out) {
  ETC_RETURN_IF_BAD(CheckSize<Struct>(name, given.struct_size));
  *out = given;
  return {};
}

}  // namespace etc::runtime
