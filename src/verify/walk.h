// Traversal of expressions for the checks.
#pragma once

#include <optional>
#include <type_traits>

#include "ir/module.h"

namespace etc {

/// Calls `visit` with the expression and then with every expression inside it.
template <class F>
void VisitExprs(const Module& module, ExprId id, const F& visit) {
  if (!id) {
    return;
  }
  visit(id);
  auto all = [&](const std::vector<ExprId>& ids) {
    for (ExprId inner : ids) {
      VisitExprs(module, inner, visit);
    }
  };
  std::visit(
      [&](const auto& expr) {
        using T = std::decay_t<decltype(expr)>;
        if constexpr (std::is_same_v<T, Load>) {
          all(expr.indices);
        } else if constexpr (std::is_same_v<T, Cast> || std::is_same_v<T, Unary>) {
          VisitExprs(module, expr.operand, visit);
        } else if constexpr (std::is_same_v<T, Binary>) {
          VisitExprs(module, expr.left, visit);
          VisitExprs(module, expr.right, visit);
        } else if constexpr (std::is_same_v<T, Call>) {
          all(expr.args);
        } else if constexpr (std::is_same_v<T, Reduce>) {
          for (const Axis& axis : expr.axes) {
            VisitExprs(module, axis.lo, visit);
            VisitExprs(module, axis.hi, visit);
          }
          VisitExprs(module, expr.body, visit);
        }
      },
      module.exprs[id]);
}

/// The first expression inside `id` (itself included) that `matches`, or an absent id.
template <class F>
ExprId FindExpr(const Module& module, ExprId id, const F& matches) {
  ExprId found;
  VisitExprs(module, id, [&](ExprId inner) {
    if (!found && matches(module.exprs[inner])) {
      found = inner;
    }
  });
  return found;
}

inline bool ReadsTensor(const Module& module, ExprId id) {
  return bool{FindExpr(module, id, [](const Expr& e) { return std::holds_alternative<Load>(e); })};
}

inline bool ReadsTensor(const Module& module, const EventRef& ref) {
  auto reads = [&](ExprId id) { return ReadsTensor(module, id); };
  for (const EventIndex& index : ref.indices) {
    if (reads(index.lo) || reads(index.hi)) {
      return true;
    }
  }
  for (const Axis& axis : ref.axes) {
    if (reads(axis.lo) || reads(axis.hi)) {
      return true;
    }
  }
  return reads(ref.guard);
}

}  // namespace etc
