#include "verify/values.h"

#include <fmt/format.h>

#include "ir/printer.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// What an operation divides by, or nothing.
ExprId DivisorOf(const Expr& expr) {
  const auto* binary = std::get_if<Binary>(&expr);
  if (binary != nullptr && (binary->op == BinaryOp::Div || binary->op == BinaryOp::Mod)) {
    return binary->right;
  }
  const auto* call = std::get_if<Call>(&expr);
  return call != nullptr && KindOf(call->op) == IntrinsicKind::Quotient ? call->args[1] : ExprId{};
}

}  // namespace

std::optional<std::string> ValueText(const Module& module, ExprId id, const Env& sizes,
                                     const DimRanges& ranges) {
  auto text = [](const auto& value) {
    return value ? std::optional(fmt::format("{}", *value)) : std::nullopt;
  };
  switch (KindOf(module, id)) {
    case ValueKind::Int:
      return text(EvaluateInt(module, id, sizes, ranges));
    case ValueKind::Float:
    case ValueKind::Double:
      return text(EvaluateFloat(module, id, sizes, ranges));
    case ValueKind::Bool:
      return text(EvaluateBool(module, id, sizes, ranges));
    case ValueKind::Error:
      break;
  }
  return std::nullopt;
}

std::string WhyNoValue(const Module& module, ExprId id, const Env& sizes, const DimRanges& ranges) {
  ExprId inner;
  VisitOperands(module.exprs[id], [&](ExprId operand) {
    if (!inner && operand && !ValueText(module, operand, sizes, ranges)) {
      inner = operand;
    }
  });
  if (inner) {
    return WhyNoValue(module, inner, sizes, ranges);
  }
  const Expr& expr = module.exprs[id];
  const std::string text = Print(module, id);
  ExprId divisor = DivisorOf(expr);
  if (divisor && EvaluateFloat(module, divisor, sizes, ranges) == 0.0) {
    return fmt::format("`{}` divides by zero", text);
  }
  const auto* binary = std::get_if<Binary>(&expr);
  auto places = binary != nullptr && IsShift(binary->op)
                    ? EvaluateInt(module, binary->right, sizes, ranges)
                    : std::nullopt;
  if (places && (*places < 0 || *places > 63)) {
    return fmt::format("`{}` shifts by less than 0 or more than 63 places", text);
  }
  return fmt::format("`{}` {}", text,
                     IsFloating(KindOf(module, id))
                         ? "is no number, or does not fit in a float of 64 bits"
                         : "does not fit in 64 bits");
}

}  // namespace etc
