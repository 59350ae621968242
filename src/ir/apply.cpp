// The operators and the intrinsics of ints.
#include <algorithm>

#include "ir/checked.h"
#include "ir/evaluate.h"

namespace etc {
namespace {

/// The intrinsics that have a value of ints. Those of one operand look at the first.
struct Ints {
  using Result = std::optional<int64_t>;

  static Result Min(int64_t a, int64_t b) { return std::min(a, b); }
  static Result Max(int64_t a, int64_t b) { return std::max(a, b); }
  static Result Abs(int64_t a, int64_t) { return a < 0 ? CheckedSub(0, a) : a; }
  static Result CeilDiv(int64_t a, int64_t b) { return CheckedCeilDiv(a, b); }
  static Result Align(int64_t a, int64_t b) { return CheckedAlign(a, b); }
};

}  // namespace

std::optional<int64_t> Apply(BinaryOp op, int64_t a, int64_t b) {
  switch (op) {
    case BinaryOp::Add:
      return CheckedAdd(a, b);
    case BinaryOp::Sub:
      return CheckedSub(a, b);
    case BinaryOp::Mul:
      return CheckedMul(a, b);
    case BinaryOp::Div:
      return CheckedFloorDiv(a, b);
    case BinaryOp::Mod:
      return CheckedFloorMod(a, b);
    case BinaryOp::BitOr:
      return a | b;
    case BinaryOp::BitXor:
      return a ^ b;
    case BinaryOp::BitAnd:
      return a & b;
    case BinaryOp::Shl:
      return CheckedShiftLeft(a, b);
    case BinaryOp::Shr:
      return CheckedShiftRight(a, b);
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> Apply(Intrinsic op, int64_t a, int64_t b) {
  switch (op) {
#define ETC_INTRINSIC(name, spelling, arity, kind, value) case Intrinsic::name:
#define ETC_INT_INTRINSIC(name, spelling, arity, kind, value) \
  case Intrinsic::name:                                       \
    return Ints::name(a, b);
#include "ir/ops.def"
    break;
  }
  return std::nullopt;
}

}  // namespace etc
