#include "expand/named_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/walk.h"
#include "support/unique_name.h"

namespace etc {
namespace {

/// The value of a condition on literals.
std::optional<bool> OfLiterals(const Module& module, ExprId id) {
  bool named = bool{FindExpr(module, id, [](const Expr& expr) {
    return std::holds_alternative<SymbolRef>(expr) || std::holds_alternative<Load>(expr);
  })};
  return named || KindOf(module, id) != ValueKind::Bool ? std::nullopt
                                                        : EvaluateBool(module, id, {});
}

bool EvaluatesAlone(const Expr& expr) {
  return std::holds_alternative<IntLiteral>(expr) || std::holds_alternative<FloatLiteral>(expr) ||
         std::holds_alternative<BoolLiteral>(expr);
}

/// Whether a constant may have the value: no dimension but in `lower` and `upper`.
bool IsConstant(const Module& module, ExprId id) {
  const Expr& expr = module.exprs[id];
  if (const auto* call = std::get_if<Call>(&expr)) {
    return call->op == Intrinsic::Lower || call->op == Intrinsic::Upper ||
           std::all_of(call->args.begin(), call->args.end(),
                       [&](ExprId arg) { return IsConstant(module, arg); });
  }
  if (const auto* ref = std::get_if<SymbolRef>(&expr)) {
    return module.symbols[ref->symbol].kind == SymbolKind::Const;
  }
  if (const auto* binary = std::get_if<Binary>(&expr)) {
    return IsConstant(module, binary->left) && IsConstant(module, binary->right);
  }
  if (const auto* unary = std::get_if<Unary>(&expr)) {
    return IsConstant(module, unary->operand);
  }
  return EvaluatesAlone(expr);
}

}  // namespace

void NamedConstants::Name(const Callee& callee, Substitution& values, std::vector<Item>& made) {
  for (SymbolId generic : callee.generics) {
    const Symbol symbol = module_.symbols[generic];
    ExprId& value = values.at(generic);
    if (std::optional<bool> known = OfLiterals(module_, value)) {
      value = module_.AddExpr(BoolLiteral{*known}, module_.RangeOf(value));
    }
    bool long_text = !std::holds_alternative<SymbolRef>(module_.exprs[value]) &&
                     !EvaluatesAlone(module_.exprs[value]);
    // What was decided has a name to set it by.
    const auto* number = std::get_if<IntLiteral>(&module_.exprs[value]);
    bool decided = module_.choices.contains(generic) && number != nullptr &&
                   !std::holds_alternative<IntLiteral>(module_.exprs[symbol.value]);
    if (!symbol.value || !(long_text || decided) || !IsConstant(module_, value)) {
      continue;
    }
    std::string key = fmt::format("{}_{}={}", callee.name, symbol.name, Print(module_, value));
    auto found = names_.find(key);
    if (found == names_.end()) {
      SymbolId constant = module_.symbols.Add({fmt::format("{}_{}", callee.name, symbol.name),
                                               SymbolKind::Const,
                                               symbol.range,
                                               value,
                                               {},
                                               {},
                                               {}});
      made.emplace_back(constant);
      found = names_.emplace(std::move(key), constant).first;
    }
    value = MakeRef(module_, found->second);
  }
}

void TellConstantsApart(Module& module) {
  std::set<std::string> taken;
  for (const Item& item : module.items) {
    if (const auto* id = std::get_if<SymbolId>(&item)) {
      Symbol& symbol = module.symbols[*id];
      symbol.name = UniqueName(symbol.name, taken);
    }
  }
}

}  // namespace etc
