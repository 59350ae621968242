#include "ir/types.h"

#include <cmath>

#include "ir/expr.h"
#include "support/diagnostics.h"

namespace etc {

std::string_view Spelling(DType type) {
  switch (type) {
#define ETC_DTYPE(name, spelling, bytes, kind) \
  case DType::name:                            \
    return spelling;
#include "ir/dtypes.def"
#undef ETC_DTYPE
  }
  InternalError(__FILE__, __LINE__, "an element type without a spelling");
}

std::string_view Spelling(ValueKind kind) {
  switch (kind) {
    case ValueKind::Int:
      return "int";
    case ValueKind::Float:
      return "float";
    case ValueKind::Double:
      return "double";
    case ValueKind::Bool:
      return "bool";
    case ValueKind::Error:
      return "error";
  }
  InternalError(__FILE__, __LINE__, "a value kind without a spelling");
}

int64_t SizeInBytes(DType type) {
  switch (type) {
#define ETC_DTYPE(name, spelling, bytes, kind) \
  case DType::name:                            \
    return bytes;
#include "ir/dtypes.def"
#undef ETC_DTYPE
  }
  InternalError(__FILE__, __LINE__, "an element type without a size");
}

ValueKind KindOf(DType type) {
  switch (type) {
#define ETC_DTYPE(name, spelling, bytes, kind) \
  case DType::name:                            \
    return ValueKind::kind;
#include "ir/dtypes.def"
#undef ETC_DTYPE
  }
  InternalError(__FILE__, __LINE__, "an element type without a value kind");
}

bool FitsFloat(double value) {
  // Halfway from the largest float to where the next would be.
  return !std::isfinite(value) || std::fabs(value) < 0x1.ffffffp127;
}

std::optional<DType> ParseDType(std::string_view spelling) {
#define ETC_DTYPE(name, text, bytes, kind) \
  if (spelling == text) {                  \
    return DType::name;                    \
  }
#include "ir/dtypes.def"
#undef ETC_DTYPE
  return std::nullopt;
}

std::string_view Spelling(UnaryOp op) {
  switch (op) {
#define ETC_UNARY(name, token) \
  case UnaryOp::name:          \
    return token;
#include "ir/ops.def"
  }
  InternalError(__FILE__, __LINE__, "a unary operator without a spelling");
}

std::string_view Spelling(BinaryOp op) {
  switch (op) {
#define ETC_BINARY(name, token, precedence) \
  case BinaryOp::name:                      \
    return token;
#include "ir/ops.def"
  }
  InternalError(__FILE__, __LINE__, "a binary operator without a spelling");
}

std::string_view Spelling(Intrinsic op) {
  switch (op) {
#define ETC_INTRINSIC(name, spelling, arity, kind, value) \
  case Intrinsic::name:                                   \
    return spelling;
#include "ir/ops.def"
  }
  InternalError(__FILE__, __LINE__, "an intrinsic without a spelling");
}

std::string_view Spelling(Reduction op) {
  switch (op) {
#define ETC_REDUCTION(name, spelling) \
  case Reduction::name:               \
    return spelling;
#include "ir/ops.def"
  }
  InternalError(__FILE__, __LINE__, "a reduction without a spelling");
}

int Precedence(BinaryOp op) {
  switch (op) {
#define ETC_BINARY(name, token, precedence) \
  case BinaryOp::name:                      \
    return precedence;
#include "ir/ops.def"
  }
  InternalError(__FILE__, __LINE__, "a binary operator without a precedence");
}

IntrinsicKind KindOf(Intrinsic op) {
  switch (op) {
#define ETC_INTRINSIC(name, spelling, arity, kind, value) \
  case Intrinsic::name:                                   \
    return IntrinsicKind::kind;
#include "ir/ops.def"
  }
  InternalError(__FILE__, __LINE__, "an intrinsic without a kind");
}

std::string_view FunctionName(Intrinsic op) {
  switch (op) {
#define ETC_INTRINSIC(name, spelling, arity, kind, value) \
  case Intrinsic::name:                                   \
    return #name;
#include "ir/ops.def"
  }
  InternalError(__FILE__, __LINE__, "an intrinsic without a function");
}

int Arity(Intrinsic op) {
  switch (op) {
#define ETC_INTRINSIC(name, spelling, arity, kind, value) \
  case Intrinsic::name:                                   \
    return arity;
#include "ir/ops.def"
  }
  InternalError(__FILE__, __LINE__, "an intrinsic without an arity");
}

}  // namespace etc
