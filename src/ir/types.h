// Element types of tensors, and the kinds of value that expressions compute with.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace etc {

enum class DType : uint8_t {
#define ETC_DTYPE(name, spelling, bytes, kind) name,
#include "ir/dtypes.def"
#undef ETC_DTYPE
};

/// Expressions compute with 64-bit integers, 32-bit floats, 64-bit floats (doubles) and booleans; a
/// load converts from the element type and a store rounds to it. `Error` is the kind of an
/// expression already reported.
enum class ValueKind : uint8_t { Int, Float, Double, Bool, Error };

/// Whether it is a float of either width.
constexpr bool IsFloating(ValueKind kind) {
  return kind == ValueKind::Float || kind == ValueKind::Double;
}

std::string_view Spelling(DType type);
std::string_view Spelling(ValueKind kind);
int64_t SizeInBytes(DType type);
ValueKind KindOf(DType type);
/// Whether a float of 32 bits holds the value, rounded: all but large finite ones.
bool FitsFloat(double value);
std::optional<DType> ParseDType(std::string_view spelling);

}  // namespace etc
