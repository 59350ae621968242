// Traversal of expressions, and what it tells of them.
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>

#include "ir/module.h"
#include "ir/rewrite.h"

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

/// Whether anything is said of the tensor's values.
inline bool IsPromised(const Tensor& tensor) {
  return tensor.value_lo || tensor.distinct || tensor.monotone || tensor.counts;
}

/// Whether one value range holds for all elements: it depends neither on the element nor on other
/// tensors.
inline bool IsUniform(const Module& module, const Tensor& tensor) {
  auto depends = [&](const Expr& expr) {
    const auto* ref = std::get_if<SymbolRef>(&expr);
    return std::holds_alternative<Load>(expr) ||
           (ref != nullptr && module.symbols[ref->symbol].kind == SymbolKind::Index);
  };
  return !FindExpr(module, tensor.value_lo, depends) && !FindExpr(module, tensor.value_hi, depends);
}

/// Calls `visit` with every expression inside the reference.
template <class F>
void VisitExprs(const Module& module, const EventRef& ref, const F& visit) {
  for (const EventIndex& index : ref.indices) {
    VisitExprs(module, index.lo, visit);
    VisitExprs(module, index.hi, visit);
  }
  for (const Axis& axis : ref.axes) {
    VisitExprs(module, axis.lo, visit);
    VisitExprs(module, axis.hi, visit);
  }
  VisitExprs(module, ref.guard, visit);
}

/// The same for every expression of a body, at any depth.
template <class F>
void VisitExprs(const Module& module, const std::vector<StmtId>& body, const F& visit) {
  auto all = [&](const std::vector<ExprId>& ids) {
    for (ExprId id : ids) {
      VisitExprs(module, id, visit);
    }
  };
  auto axis = [&](const Axis& one) {
    VisitExprs(module, one.lo, visit);
    VisitExprs(module, one.hi, visit);
  };
  for (StmtId id : body) {
    std::visit(
        [&](const auto& stmt) {
          using T = std::decay_t<decltype(stmt)>;
          if constexpr (std::is_same_v<T, For>) {
            std::for_each(stmt.axes.begin(), stmt.axes.end(), axis);
            VisitExprs(module, stmt.body, visit);
          } else if constexpr (std::is_same_v<T, If>) {
            VisitExprs(module, stmt.condition, visit);
            VisitExprs(module, stmt.body, visit);
            VisitExprs(module, stmt.otherwise, visit);
          } else if constexpr (std::is_same_v<T, Let>) {
            VisitExprs(module, stmt.value, visit);
          } else if constexpr (std::is_same_v<T, LetPair>) {
            VisitExprs(module, stmt.reduction, visit);
          } else if constexpr (std::is_same_v<T, LocalDecl>) {
            all(module.tensors[stmt.tensor].shape);
          } else if constexpr (std::is_same_v<T, Assign>) {
            all(stmt.indices);
            VisitExprs(module, stmt.value, visit);
          } else {
            static_assert(std::is_same_v<T, TopK>);
            all(stmt.value_indices);
            all(stmt.position_indices);
            axis(stmt.rank);
            axis(stmt.axis);
            VisitExprs(module, stmt.body, visit);
          }
        },
        module.stmts[id]);
  }
}

inline bool ReadsTensor(const Module& module, const EventRef& ref) {
  bool reads = false;
  VisitExprs(module, ref,
             [&](ExprId id) { reads |= std::holds_alternative<Load>(module.exprs[id]); });
  return reads;
}

inline bool ReadsTensor(const Module& module, const std::vector<Axis>& axes) {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    return ReadsTensor(module, axis.lo) || ReadsTensor(module, axis.hi);
  });
}

/// Whether a wait can come before the first task of an SM: it does not depend on the task, whose
/// coordinates are `coords`, and reads no tensor that a wait before it, which does, may be for.
inline bool IsCommonWait(const Module& module, const EventRef& wait,
                         const std::vector<SymbolId>& coords, bool behind_others) {
  bool reads = ReadsTensor(module, wait) || ReadsTensor(module, module.events[wait.event].count);
  return !Mentions(module, wait, coords) && !(reads && behind_others);
}

}  // namespace etc
