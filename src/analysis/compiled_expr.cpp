#include "analysis/compiled_expr.h"

#include "ir/checked.h"

namespace etc {

CompiledExpr::CompiledExpr(const Module& module, ExprId id, const Sizes& sizes,
                           const Slots& slots) {
  if (!id) {
    return;
  }
  ExprId dividend = id;
  const auto* binary = std::get_if<Binary>(&module.exprs[id]);
  if (binary != nullptr && binary->op == BinaryOp::Div) {
    if (auto divisor = EvaluateInt(module, binary->right, sizes.dims, sizes.ranges)) {
      dividend = binary->left;
      divisor_ = *divisor;
    }
  }
  if (auto affine = AffineOf(module, dividend, sizes, slots)) {
    affine_ = std::move(*affine);
    return;
  }
  module_ = &module;
  id_ = id;
  sizes_ = &sizes;
}

std::optional<int64_t> CompiledExpr::Evaluate(const Slots& slots) const {
  if (module_ != nullptr) {
    return EvaluateInt(*module_, id_, EnvOf(*sizes_, slots), sizes_->ranges);
  }
  std::optional<int64_t> value = affine_.constant;
  for (const auto& [slot, coefficient] : affine_.terms) {
    auto product = CheckedMul(slots[slot], coefficient);
    value = product ? CheckedAdd(*value, *product) : std::nullopt;
    if (!value) {
      return std::nullopt;
    }
  }
  return CheckedFloorDiv(*value, divisor_);
}

std::optional<CompiledExpr::Affine> CompiledExpr::Sum(const Affine& a, const Affine& b,
                                                      int64_t sign) {
  Affine sum = a;
  auto scaled = CheckedMul(b.constant, sign);
  auto constant = scaled ? CheckedAdd(a.constant, *scaled) : std::nullopt;
  if (!constant) {
    return std::nullopt;
  }
  sum.constant = *constant;
  for (const auto& [slot, coefficient] : b.terms) {
    auto term = CheckedMul(coefficient, sign);
    if (!term) {
      return std::nullopt;
    }
    sum.terms.emplace_back(slot, *term);
  }
  return sum;
}

std::optional<CompiledExpr::Affine> CompiledExpr::AffineOf(const Module& module, ExprId id,
                                                           const Sizes& sizes, const Slots& slots) {
  const Expr& expr = module.exprs[id];
  if (const auto* literal = std::get_if<IntLiteral>(&expr)) {
    return Affine{literal->value, {}};
  }
  if (const auto* ref = std::get_if<SymbolRef>(&expr)) {
    auto slot = slots.all().find(ref->symbol);
    if (slot != slots.all().end()) {
      return Affine{0, {{slot->second, 1}}};
    }
  }
  if (const auto* unary = std::get_if<Unary>(&expr); unary && unary->op == UnaryOp::Neg) {
    auto operand = AffineOf(module, unary->operand, sizes, slots);
    return operand ? Sum({}, *operand, -1) : std::nullopt;
  }
  if (const auto* binary = std::get_if<Binary>(&expr)) {
    bool sum = binary->op == BinaryOp::Add || binary->op == BinaryOp::Sub;
    if (sum || binary->op == BinaryOp::Mul) {
      auto left = AffineOf(module, binary->left, sizes, slots);
      auto right = left ? AffineOf(module, binary->right, sizes, slots) : std::nullopt;
      if (!right || (!sum && !left->terms.empty() && !right->terms.empty())) {
        return std::nullopt;
      }
      if (sum) {
        return Sum(*left, *right, binary->op == BinaryOp::Add ? 1 : -1);
      }
      return left->terms.empty() ? Sum({}, *right, left->constant)
                                 : Sum({}, *left, right->constant);
    }
  }
  auto value = EvaluateInt(module, id, sizes.dims, sizes.ranges);
  return value ? std::optional(Affine{*value, {}}) : std::nullopt;
}

Env EnvOf(const Sizes& sizes, const Slots& slots) {
  Env env = sizes.dims;
  for (const auto& [symbol, slot] : slots.all()) {
    env[symbol] = slots[slot];
  }
  return env;
}

}  // namespace etc
