#include "schedule/rank_shift.h"

#include <algorithm>

#include "ir/rewrite.h"

namespace etc {
namespace {

/// Of a task of this rank; nothing where it depends on anything else.
std::optional<int64_t> At(const TaskExpr& expr, int64_t rank) {
  if (expr.kind == TaskExpr::Kind::Number) {
    return expr.value;
  }
  if (expr.kind == TaskExpr::Kind::Coordinate) {
    return expr.value == 0 ? std::optional(rank) : std::nullopt;
  }
  if (expr.kind == TaskExpr::Kind::Select) {
    auto condition = At(expr.args[0], rank);
    return condition ? At(expr.args[*condition != 0 ? 1 : 2], rank) : std::nullopt;
  }
  if (expr.args.size() != 2) {
    return std::nullopt;
  }
  auto left = At(expr.args[0], rank), right = At(expr.args[1], rank);
  if (!left || !right) {
    return std::nullopt;
  }
  if (expr.kind == TaskExpr::Kind::Min) {
    return std::min(*left, *right);
  }
  if (expr.kind == TaskExpr::Kind::Max) {
    return std::max(*left, *right);
  }
  if (expr.kind != TaskExpr::Kind::Binary) {
    return std::nullopt;
  }
  switch (expr.op) {
    case BinaryOp::Add:
      return *left + *right;
    case BinaryOp::Sub:
      return *left - *right;
    case BinaryOp::Mul:
      return *left * *right;
    case BinaryOp::Mod:
      return *left >= 0 && *right > 0 ? std::optional(*left % *right) : std::nullopt;
    case BinaryOp::Eq:
      return *left == *right;
    case BinaryOp::Lt:
      return *left < *right;
    case BinaryOp::Le:
      return *left <= *right;
    case BinaryOp::Gt:
      return *left > *right;
    case BinaryOp::Ge:
      return *left >= *right;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<int64_t> ShiftOfRank(const TaskExpr& expr, int64_t ranks) {
  const std::optional<int64_t> shift = At(expr, 0);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (!shift || At(expr, rank) != (rank + *shift) % ranks) {
      return std::nullopt;
    }
  }
  return shift;
}

ExprId MakeShiftedRank(Module& module, ExprId rank, int64_t shift, int64_t ranks, ExprId extent) {
  if (shift == 0) {
    return rank;
  }
  ExprId sum = shift <= ranks / 2
                   ? MakeOffset(module, rank, shift)
                   : MakeOffset(module, MakeAdd(module, rank, extent), shift - ranks);
  return module.AddExpr(Binary{BinaryOp::Mod, sum, extent});
}

}  // namespace etc
