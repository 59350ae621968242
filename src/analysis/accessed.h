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
  return std::visit(Overloaded{
                        [&](const For& loop) { return in(loop.axes) || in_block(loop.body); },
                        [&](const If& branch) {
                          return in(branch.condition) || in_block(branch.body) ||
                                 in_block(branch.otherwise);
                        },
                        [&](const Let& let) { return in(let.value); },
                        [&](const LetPair& pair) { return in(pair.reduction); },
                        [](const LocalDecl&) { return false; },
                        [&](const Assign& assign) {
                          return is_wanted(assign.tensor) || in(assign.value) || in(assign.indices);
                        },
                        [&](const TopK& topk) {
                          return is_wanted(topk.values) || is_wanted(topk.positions) ||
                                 in(topk.value_indices) || in(topk.position_indices) ||
                                 in(std::vector<Axis>{topk.rank, topk.axis}) || in(topk.body);
                        },
                    },
                    stmt);
}

}  // namespace etc
