#include "ir/fold.h"

#include <optional>

#include "ir/rewrite.h"
#include "ir/walk.h"

namespace etc {
namespace {

bool IsLiteral(const Expr& expr) {
  return std::holds_alternative<IntLiteral>(expr) || std::holds_alternative<BoolLiteral>(expr);
}

bool IsInt(const Module& module, ExprId id, int64_t value) {
  const auto* literal = std::get_if<IntLiteral>(&module.exprs[id]);
  return literal != nullptr && literal->value == value;
}

/// Of a conjunction or a disjunction that is not decided: the side that is not.
ExprId OnlySide(const Module& module, const Binary& binary, const DimRanges& ranges) {
  if (binary.op != BinaryOp::And && binary.op != BinaryOp::Or) {
    return {};
  }
  bool neutral = binary.op == BinaryOp::And;
  if (Decide(module, binary.left, {}, ranges) == neutral) {
    return binary.right;
  }
  return Decide(module, binary.right, {}, ranges) == neutral ? binary.left : ExprId{};
}

}  // namespace

std::optional<int64_t> OnlyValue(const Module& module, ExprId id, const DimRanges& ranges) {
  if (std::optional<int64_t> value = EvaluateInt(module, id, {}, ranges)) {
    return value;
  }
  std::optional<Interval> bounds = Bounds(module, id, {}, ranges);
  return bounds && bounds->lo == bounds->hi ? std::optional(bounds->lo) : std::nullopt;
}

ExprId OnlyOperand(const Module& module, ExprId id, const DimRanges& ranges) {
  if (const auto* binary = std::get_if<Binary>(&module.exprs[id])) {
    return OnlySide(module, *binary, ranges);
  }
  const auto* call = std::get_if<Call>(&module.exprs[id]);
  if (call == nullptr || call->op != Intrinsic::Select) {
    return {};
  }
  std::optional<bool> first = Decide(module, call->args[0], {}, ranges);
  ExprId side = first ? call->args[*first ? 1 : 2] : ExprId{};
  return side && KindOf(module, side) == KindOf(module, id) ? side : ExprId{};
}

ExprId Folder::Fold(ExprId id) {
  if (!id || IsLiteral(module_.exprs[id])) {
    return id;
  }
  if (ExprId literal = Literal(id)) {
    return literal;
  }
  ExprId operand = Depends(id) ? OnlyOperand(module_, id, ranges_) : ExprId{};
  if (operand) {
    return Fold(operand);
  }
  return Rebuild(id);
}

void Folder::Fold(std::vector<ExprId>& ids) {
  for (ExprId& id : ids) {
    id = Fold(id);
  }
}

void Folder::Fold(std::vector<Axis>& axes) {
  for (Axis& axis : axes) {
    axis.lo = Fold(axis.lo);
    axis.hi = Fold(axis.hi);
  }
}

void Folder::Fold(EventRef& ref) {
  for (EventIndex& index : ref.indices) {
    index.lo = Fold(index.lo);
    index.hi = Fold(index.hi);
  }
  Fold(ref.axes);
  ref.guard = Fold(ref.guard);
  ref.peer = Fold(ref.peer);
}

bool Folder::Depends(ExprId id) {
  return bool{FindExpr(module_, id, [&](const Expr& expr) {
    if (const auto* call = std::get_if<Call>(&expr)) {
      return call->op == Intrinsic::Lower || call->op == Intrinsic::Upper;
    }
    const auto* ref = std::get_if<SymbolRef>(&expr);
    if (ref == nullptr || module_.symbols[ref->symbol].kind != SymbolKind::Const) {
      return ref != nullptr && module_.symbols[ref->symbol].kind == SymbolKind::Dim;
    }
    auto [known, is_new] = depends_.emplace(ref->symbol, false);
    if (is_new) {
      known->second = Depends(module_.symbols[ref->symbol].value);
    }
    return known->second;
  })};
}

ExprId Folder::Literal(ExprId id) {
  ValueKind kind = KindOf(module_, id);
  if ((kind != ValueKind::Int && kind != ValueKind::Bool) || !Depends(id)) {
    return {};
  }
  SourceRange range = module_.RangeOf(id);
  if (kind == ValueKind::Bool) {
    std::optional<bool> value = Decide(module_, id, {}, ranges_);
    return value ? module_.AddExpr(BoolLiteral{*value}, range) : ExprId{};
  }
  std::optional<int64_t> value = OnlyValue(module_, id, ranges_);
  return value ? module_.AddExpr(IntLiteral{*value}, range) : ExprId{};
}

/// With its operands folded.
ExprId Folder::Rebuild(ExprId id) {
  const Expr expr = module_.exprs[id];  // a copy: folding grows the table
  SourceRange range = module_.RangeOf(id);
  bool changed = false;
  auto fold = [&](ExprId operand) {
    ExprId folded = Fold(operand);
    changed |= folded != operand;
    return folded;
  };
  auto all = [&](std::vector<ExprId> operands) {
    for (ExprId& operand : operands) {
      operand = fold(operand);
    }
    return operands;
  };
  auto made = [&](Expr rebuilt) {
    return changed ? module_.AddExpr(std::move(rebuilt), range) : id;
  };
  if (const auto* load = std::get_if<Load>(&expr)) {
    return made(Load{load->tensor, all(load->indices)});
  }
  if (const auto* cast = std::get_if<Cast>(&expr)) {
    return made(Cast{cast->type, fold(cast->operand)});
  }
  if (const auto* unary = std::get_if<Unary>(&expr)) {
    return made(Unary{unary->op, fold(unary->operand)});
  }
  if (const auto* call = std::get_if<Call>(&expr)) {
    // `lower(d)` and `upper(d)` take the dimension itself, and have made literals.
    return made(Call{call->op, all(call->args)});
  }
  if (const auto* reduce = std::get_if<Reduce>(&expr)) {
    Reduce rebuilt = *reduce;
    for (Axis& axis : rebuilt.axes) {
      axis.lo = fold(axis.lo);
      axis.hi = fold(axis.hi);
    }
    rebuilt.body = fold(rebuilt.body);
    return made(std::move(rebuilt));
  }
  const auto* binary = std::get_if<Binary>(&expr);
  if (binary == nullptr) {
    return id;
  }
  ExprId left = fold(binary->left), right = fold(binary->right);
  if (!changed || KindOf(module_, id) != ValueKind::Int) {
    return made(Binary{binary->op, left, right});
  }
  switch (binary->op) {
    case BinaryOp::Add:
      return MakeAdd(module_, left, right);
    case BinaryOp::Mul:
      return MakeMul(module_, left, right);
    case BinaryOp::Sub:
      return IsInt(module_, right, 0) ? left : made(Binary{binary->op, left, right});
    case BinaryOp::Div:
      return IsInt(module_, right, 1) ? left : made(Binary{binary->op, left, right});
    default:
      return made(Binary{binary->op, left, right});
  }
}

}  // namespace etc
