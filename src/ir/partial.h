// Operations on integers that have a value for some operands only.
#pragma once

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

inline bool IsShift(const Module& module, ExprId id) {
  const auto* binary = std::get_if<Binary>(&module.exprs[id]);
  return binary != nullptr && IsShift(binary->op);
}

/// The operand that decides whether an operation on integers has a value: the divisor of a
/// division, or the places of a shift. An absent id where the operation has a value for all
/// operands, or a constant operand for which it has.
inline ExprId PartialOperand(const Module& module, ExprId id) {
  const Expr& expr = module.exprs[id];
  ExprId operand;
  if (const auto* binary = std::get_if<Binary>(&expr)) {
    bool divides = binary->op == BinaryOp::Div || binary->op == BinaryOp::Mod;
    operand = divides || IsShift(binary->op) ? binary->right : ExprId{};
  } else if (const auto* call = std::get_if<Call>(&expr)) {
    operand = KindOf(call->op) == IntrinsicKind::Quotient ? call->args[1] : ExprId{};
  }
  const auto* literal = operand ? std::get_if<IntLiteral>(&module.exprs[operand]) : nullptr;
  bool fine = literal != nullptr && literal->value > 0 && literal->value < 64;
  bool divides = !IsShift(module, id);
  fine = fine || (literal != nullptr && divides && literal->value != 0);
  return !operand || fine || KindOf(module, id) != ValueKind::Int ? ExprId{} : operand;
}

}  // namespace etc
