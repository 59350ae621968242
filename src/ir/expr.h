// Scalar expressions: bodies, shapes, counts, maps and bounds are all made of these.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/ids.h"
#include "ir/types.h"

namespace etc {

enum class UnaryOp : uint8_t {
#define ETC_UNARY(name, token) name,
#include "ir/ops.def"
};
enum class BinaryOp : uint8_t {
#define ETC_BINARY(name, token, precedence) name,
#include "ir/ops.def"
};
enum class Intrinsic : uint8_t {
#define ETC_INTRINSIC(name, spelling, arity, kind, value) name,
#include "ir/ops.def"
};
/// What an intrinsic takes and yields.
enum class IntrinsicKind : uint8_t {
  Number,    // ints or floats, and one of the same kind
  Quotient,  // ints, of which the second divides, and an int
  Float,     // floats of 32 or of 64 bits
  Choice,    // a condition and two values, of which only the one that it yields is evaluated
  Limit,     // a dimension, and an int
};
enum class Reduction : uint8_t {
#define ETC_REDUCTION(name, spelling) name,
#include "ir/ops.def"
};

std::string_view Spelling(UnaryOp op);
std::string_view Spelling(BinaryOp op);
std::string_view Spelling(Intrinsic op);
std::string_view Spelling(Reduction op);
int Precedence(BinaryOp op);
int Arity(Intrinsic op);
IntrinsicKind KindOf(Intrinsic op);
/// The name of the C++ function, on the host and on the GPU.
std::string_view FunctionName(Intrinsic op);
/// Whether the op is one of `|`, `^`, `&`, `<<`, `>>`: of ints only.
constexpr bool IsBitOp(BinaryOp op) { return op >= BinaryOp::BitOr && op <= BinaryOp::Shr; }
constexpr bool IsShift(BinaryOp op) { return op == BinaryOp::Shl || op == BinaryOp::Shr; }
constexpr bool IsComparison(BinaryOp op) { return op >= BinaryOp::Eq && op <= BinaryOp::Ge; }
/// Whether the value is an index of the axis.
constexpr bool IsArg(Reduction op) { return op == Reduction::ArgMax || op == Reduction::ArgMin; }
/// Whether the body and the value are booleans.
constexpr bool IsLogical(Reduction op) { return op == Reduction::AnyOf || op == Reduction::AllOf; }

/// `i: hi` or `i: lo .. hi`: the variable takes the values lo ≤ i < hi. No `lo` means 0.
struct Axis {
  SymbolId var;
  ExprId lo;
  ExprId hi;
};

/// `42`
struct IntLiteral {
  int64_t value;
};
/// `1e-6`, `inf`. A double where it meets one, else a float.
struct FloatLiteral {
  double value;
};
/// `true`
struct BoolLiteral {
  bool value;
};
/// A constant, a dimension, an index variable, a `let`, or `sms`.
struct SymbolRef {
  SymbolId symbol;
};
/// `%t[i, j]`: the element, converted to its value kind.
struct Load {
  TensorId tensor;
  std::vector<ExprId> indices;
};
/// `bf16(x)`: rounds or converts to the element type; the value kind is KindOf(type).
struct Cast {
  DType type;
  ExprId operand;
};
struct Unary {
  UnaryOp op;
  ExprId operand;
};
/// Integer `/` and `%` round towards minus infinity; by zero they yield 0 and the dividend. A shift
/// by less than 0 or more than 63 places shifts everything out. And/Or evaluate the right side only
/// if needed.
struct Binary {
  BinaryOp op;
  ExprId left;
  ExprId right;
};
/// `select(c, a, b)` evaluates only the side it yields. `lower(d)`/`upper(d)` take a dimension.
struct Call {
  Intrinsic op;
  std::vector<ExprId> args;
};
/// `sum(k: 32) e`, `max(t: lo .. hi) e`: over the product of the axes, in row-major order. Over no
/// element: sum is 0, prod is 1, max is -inf or the least int, min is +inf or the largest int, any
/// is false, all is true. `argmax` and `argmin` have one axis and yield the first index of the
/// largest or smallest value (its lower bound over no element).
struct Reduce {
  Reduction op;
  std::vector<Axis> axes;
  ExprId body;
};

using Expr = std::variant<IntLiteral, FloatLiteral, BoolLiteral, SymbolRef, Load, Cast, Unary,
                          Binary, Call, Reduce>;

}  // namespace etc
