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
constexpr uint8_t kDlFloat8E4M3Fn = 10;
constexpr uint8_t kDlFloat8E5M2 = 12;

constexpr DTypeInfo kDTypes[] = {
    {ETC_F32, "f32", 4, kDlFloat},
    {ETC_F16, "f16", 2, kDlFloat},
    {ETC_BF16, "bf16", 2, kDlBfloat},
    {ETC_I64, "i64", 8, kDlInt},
    {ETC_I32, "i32", 4, kDlInt},
    {ETC_U8, "u8", 1, kDlUInt},
    {ETC_BOOL, "bool", 1, kDlBool},
    {ETC_U16, "u16", 2, kDlUInt},
    {ETC_I8, "i8", 1, kDlInt},
    {ETC_U32, "u32", 4, kDlUInt},
    {ETC_F64, "f64", 8, kDlFloat},
    {ETC_F8E4M3, "f8e4m3", 1, kDlFloat8E4M3Fn},
    {ETC_F8E5M2, "f8e5m2", 1, kDlFloat8E5M2},
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
