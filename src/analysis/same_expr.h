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

/// Compares expressions that have variables of their own, whose names may differ.
class SameWords {
 public:
  explicit SameWords(const Module& module) : module_(module) {}

  /// Whether the bounds are the same. From then on each variable of `a` stands for that of `b`.
  bool SameAxes(const std::vector<Axis>& a, const std::vector<Axis>& b) {
    bool same = a.size() == b.size();
    for (size_t i = 0; same && i < a.size(); ++i) {
      same = Same(a[i].lo, b[i].lo) && Same(a[i].hi, b[i].hi);
      variables_[a[i].var] = b[i].var;
    }
    return same;
  }

  bool Same(ExprId a, ExprId b) const {
    return SameExpr(module_, a, b, variables_, [this](const Load& load, const Load& other) {
      return load.tensor == other.tensor &&
             std::equal(load.indices.begin(), load.indices.end(), other.indices.begin(),
                        other.indices.end(), [&](ExprId x, ExprId y) { return Same(x, y); });
    });
  }

 private:
  const Module& module_;
  std::map<SymbolId, SymbolId> variables_;  // of `a` to those of `b`
};

}  // namespace etc
