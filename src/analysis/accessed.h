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
  bool found = false;
  VisitStored(stmt, [&](TensorId tensor) { found = found || is_wanted(tensor); });
  VisitOwnExprs(module, stmt, [&](ExprId id) {
    const auto* load = found ? nullptr : std::get_if<Load>(&module.exprs[id]);
    found = load == nullptr ? found : is_wanted(load->tensor);
  });
  VisitBlocks(stmt, [&](const std::vector<StmtId>& body) {
    found = found || std::any_of(body.begin(), body.end(), [&](StmtId id) {
              return Accesses(module, module.stmts[id], is_wanted);
            });
  });
  return found;
}

}  // namespace etc
