// Whether a part of a body accesses tensors of interest.
#pragma once

#include <algorithm>
#include <variant>
#include <vector>

#include "ir/walk.h"

namespace etc {

/// `is_wanted`: of a tensor as the body names it.
template <class F>
bool Accesses(const Module& module, ExprId id, const F& is_wanted) {
  return bool{FindExpr(module, id, [&](const Expr& expr) {
    const auto* load = std::get_if<Load>(&expr);
    return load != nullptr && is_wanted(load->tensor);
  })};
}

template <class F>
bool Accesses(const Module& module, const std::vector<ExprId>& ids, const F& is_wanted) {
  return std::any_of(ids.begin(), ids.end(),
                     [&](ExprId id) { return Accesses(module, id, is_wanted); });
}

template <class F>
bool Accesses(const Module& module, const std::vector<Axis>& axes, const F& is_wanted) {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    return Accesses(module, axis.lo, is_wanted) || Accesses(module, axis.hi, is_wanted);
  });
}

template <class F>
bool Accesses(const Module& module, const Stmt& stmt, const F& is_wanted) {
  auto in = [&](const auto& part) { return Accesses(module, part, is_wanted); };
  auto in_block = [&](const std::vector<StmtId>& body) {
    return std::any_of(body.begin(), body.end(), [&](StmtId id) { return in(module.stmts[id]); });
  };
  return std::visit(
      [&](const auto& node) {
        using T = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<T, For>) {
          return in(node.axes) || in_block(node.body);
        } else if constexpr (std::is_same_v<T, If>) {
          return in(node.condition) || in_block(node.body) || in_block(node.otherwise);
        } else if constexpr (std::is_same_v<T, Let>) {
          return in(node.value);
        } else if constexpr (std::is_same_v<T, LetPair>) {
          return in(node.reduction);
        } else if constexpr (std::is_same_v<T, Assign>) {
          return is_wanted(node.tensor) || in(node.value) || in(node.indices);
        } else if constexpr (std::is_same_v<T, TopK>) {
          return is_wanted(node.values) || is_wanted(node.positions) || in(node.value_indices) ||
                 in(node.position_indices) || in(std::vector<Axis>{node.rank, node.axis}) ||
                 in(node.body);
        } else {
          static_assert(std::is_same_v<T, LocalDecl>);
          return false;
        }
      },
      stmt);
}

}  // namespace etc
