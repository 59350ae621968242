// The element types, as the manifest spells them and DLPack numbers them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "etc/runtime.h"

namespace etc::runtime {

struct DTypeInfo {
  etc_dtype dtype;
  const char* name;
  int64_t bytes;
  uint8_t dlpack_code;
};

/// Null for a number that is no dtype.
const DTypeInfo* FindDType(etc_dtype dtype);
const DTypeInfo* FindDType(std::string_view name);
const DTypeInfo* FindDlpackDType(int code, int bits, int lanes);

}  // namespace etc::runtime
