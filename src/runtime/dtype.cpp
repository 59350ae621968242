#include "runtime/dtype.h"

#include <algorithm>
#include <iterator>

namespace etc::runtime {
namespace {

// DLDataTypeCode of DLPack.
constexpr uint8_t kDlInt = 0;
constexpr uint8_t kDlUInt = 1;
constexpr uint8_t kDlFloat = 2;
constexpr uint8_t kDlBfloat = 4;
constexpr uint8_t kDlBool = 6;

constexpr DTypeInfo kDTypes[] = {
    {ETC_F32, "f32", 4, kDlFloat},  {ETC_F16, "f16", 2, kDlFloat}, {ETC_BF16, "bf16", 2, kDlBfloat},
    {ETC_I64, "i64", 8, kDlInt},    {ETC_I32, "i32", 4, kDlInt},   {ETC_U8, "u8", 1, kDlUInt},
    {ETC_BOOL, "bool", 1, kDlBool},
};

template <class Predicate>
const DTypeInfo* Find(Predicate predicate) {
  const auto* found = std::find_if(std::begin(kDTypes), std::end(kDTypes), predicate);
  return found == std::end(kDTypes) ? nullptr : found;
}

}  // namespace

const DTypeInfo* FindDType(etc_dtype dtype) {
  return Find([dtype](const DTypeInfo& info) { return info.dtype == dtype; });
}

const DTypeInfo* FindDType(std::string_view name) {
  return Find([name](const DTypeInfo& info) { return info.name == name; });
}

const DTypeInfo* FindDlpackDType(int code, int bits, int lanes) {
  return Find([&](const DTypeInfo& info) {
    return lanes == 1 && info.dlpack_code == code && info.bytes * 8 == bits;
  });
}

}  // namespace etc::runtime
