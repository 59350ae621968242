// Whether two expressions have the same words.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "ir/module.h"

namespace etc {

/// Whether both are absent, or the same but for the names of symbols: `symbols` has those of the
/// second one by those of the first. `same_load` compares what they read from tensors. False where
/// that is not seen.
template <class SameLoad>
bool SameExpr(const Module& module, ExprId a, ExprId b, const std::map<SymbolId, SymbolId>& symbols,
              const SameLoad& same_load) {
  if (!a || !b) {
    return !a && !b;
  }
  const Expr& first = module.exprs[a];
  const Expr& second = module.exprs[b];
  if (first.index() != second.index()) {
    return false;
  }
  auto same = [&](ExprId x, ExprId y) { return SameExpr(module, x, y, symbols, same_load); };
  if (const auto* literal = std::get_if<IntLiteral>(&first)) {
    return literal->value == std::get<IntLiteral>(second).value;
  }
  if (const auto* ref = std::get_if<SymbolRef>(&first)) {
    auto renamed = symbols.find(ref->symbol);
    return (renamed == symbols.end() ? ref->symbol : renamed->second) ==
           std::get<SymbolRef>(second).symbol;
  }
  if (const auto* binary = std::get_if<Binary>(&first)) {
    const auto& other = std::get<Binary>(second);
    return binary->op == other.op && same(binary->left, other.left) &&
           same(binary->right, other.right);
  }
  if (const auto* call = std::get_if<Call>(&first)) {
    const auto& other = std::get<Call>(second);
    return call->op == other.op && std::equal(call->args.begin(), call->args.end(),
                                              other.args.begin(), other.args.end(), same);
  }
  if (const auto* load = std::get_if<Load>(&first)) {
    return same_load(*load, std::get<Load>(second));
  }
  if (const auto* literal = std::get_if<FloatLiteral>(&first)) {
    return literal->value == std::get<FloatLiteral>(second).value;
  }
  if (const auto* literal = std::get_if<BoolLiteral>(&first)) {
    return literal->value == std::get<BoolLiteral>(second).value;
  }
  if (const auto* cast = std::get_if<Cast>(&first)) {
    const auto& other = std::get<Cast>(second);
    return cast->type == other.type && same(cast->operand, other.operand);
  }
  if (const auto* unary = std::get_if<Unary>(&first)) {
    const auto& other = std::get<Unary>(second);
    return unary->op == other.op && same(unary->operand, other.operand);
  }
  return false;
}

}  // namespace etc
