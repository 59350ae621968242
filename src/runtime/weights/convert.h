// Elements of a checkpoint as a parameter has them.
#pragma once

#include <cstdint>
#include <string_view>

#include "etc/runtime.h"

namespace etc::runtime {

/// How the elements of a checkpoint become those of a parameter.
struct Conversion {
  enum class Kind : uint8_t {
    None,
    Copy,
    F32ToBf16,
    F16ToBf16,
    F32ToF16,
    Bf16ToF16,
    Bf16ToF32,
    F16ToF32
  };
  Kind kind = Kind::None;
  int64_t from_bytes = 0;  // of an element
  int64_t to_bytes = 0;
};

/// Equal types are copied, and f32, f16 and bf16 become one another. None for other pairs. `from`
/// is spelled as in a checkpoint: `BF16`.
Conversion FindConversion(std::string_view from, etc_dtype to);

/// To the nearest, ties to even; what is too large becomes an infinity, and a NaN stays one.
void Convert(const Conversion& conversion, const char* from, int64_t elements, char* to);

}  // namespace etc::runtime
