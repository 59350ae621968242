// Traversal of expressions, statements and nodes, and what it tells of them.
#pragma once

#include <algorithm>
#include <optional>

#include "ir/module.h"
#include "ir/overloaded.h"
#include "ir/rewrite.h"

namespace etc {

/// Calls `visit` with each operand of the expression. A lower bound of an axis may be absent.
template <class F>
void VisitOperands(const Expr& expr, const F& visit) {
  auto all = [&](const std::vector<ExprId>& ids) { std::for_each(ids.begin(), ids.end(), visit); };
  std::visit(Overloaded{
                 [](const OneOf<IntLiteral, FloatLiteral, BoolLiteral, SymbolRef> auto&) {},
                 [&](const Load& load) { all(load.indices); },
                 [&](const OneOf<Cast, Unary> auto& one) { visit(one.operand); },
                 [&](const Binary& binary) {
                   visit(binary.left);
                   visit(binary.right);
                 },
                 [&](const Call& call) { all(call.args); },
                 [&](const Reduce& reduce) {
                   for (const Axis& axis : reduce.axes) {
                     visit(axis.lo);
                     visit(axis.hi);
                   }
                   visit(reduce.body);
                 },
             },
             expr);
}

/// Calls `visit` with the expression and then with every expression inside it.
template <class F>
void VisitExprs(const Module& module, ExprId id, const F& visit) {
  if (!id) {
    return;
  }
  visit(id);
  VisitOperands(module.exprs[id], [&](ExprId inner) { VisitExprs(module, inner, visit); });
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

/// Whether the expression is the symbol and nothing else.
inline bool IsSymbol(const Module& module, ExprId id, SymbolId symbol) {
  const auto* ref = std::get_if<SymbolRef>(&module.exprs[id]);
  return ref != nullptr && ref->symbol == symbol;
}

inline bool ReadsTensor(const Module& module, ExprId id) {
  return bool{FindExpr(module, id, [](const Expr& e) { return std::holds_alternative<Load>(e); })};
}

/// Whether anything is said of the tensor's values.
inline bool HasPrecondition(const Tensor& tensor) {
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
  VisitExprs(module, ref.peer, visit);
}

/// Calls `visit` with each block inside the statement.
template <class F>
void VisitBlocks(const Stmt& stmt, const F& visit) {
  std::visit(Overloaded{
                 [&](const For& loop) { visit(loop.body); },
                 [&](const If& branch) {
                   visit(branch.body);
                   visit(branch.otherwise);
                 },
                 [](const OneOf<Let, LetPair, LocalDecl, Assign, TopK> auto&) {},
             },
             stmt);
}

/// Calls `visit` with each block inside the node.
template <class F>
void VisitBlocks(const Node& node, const F& visit) {
  std::visit(Overloaded{
                 [&](const OneOf<Repeat, Region> auto& around) { visit(around.body); },
                 [&](const Dispatch& dispatch) { visit(dispatch.cases); },
                 [](const OneOf<BufferDecl, EventDecl, CallNode, Share> auto&) {},
             },
             node);
}

/// Calls `visit` with every node of a block, at any depth, in program order. A node comes before
/// those inside it.
template <class F>
void VisitNodes(const Module& module, const std::vector<NodeId>& nodes, const F& visit) {
  for (NodeId id : nodes) {
    visit(id);
    VisitBlocks(module.nodes[id],
                [&](const std::vector<NodeId>& body) { VisitNodes(module, body, visit); });
  }
}

/// Calls `visit` with every tensor that the statement itself stores to, not those inside it.
template <class F>
void VisitStored(const Stmt& stmt, const F& visit) {
  std::visit(Overloaded{
                 [&](const Assign& assign) { visit(assign.tensor); },
                 [&](const TopK& topk) {
                   visit(topk.values);
                   visit(topk.positions);
                 },
                 [](const OneOf<For, If, Let, LetPair, LocalDecl> auto&) {},
             },
             stmt);
}

/// Calls `visit` with every expression that the statement itself holds, not those of statements
/// inside it.
template <class F>
void VisitOwnExprs(const Module& module, const Stmt& stmt, const F& visit) {
  auto one = [&](ExprId id) { VisitExprs(module, id, visit); };
  auto all = [&](const std::vector<ExprId>& ids) { std::for_each(ids.begin(), ids.end(), one); };
  auto axis = [&](const Axis& axis) {
    one(axis.lo);
    one(axis.hi);
  };
  std::visit(Overloaded{
                 [&](const For& loop) { std::for_each(loop.axes.begin(), loop.axes.end(), axis); },
                 [&](const If& branch) { one(branch.condition); },
                 [&](const Let& let) { one(let.value); },
                 [&](const LetPair& pair) { one(pair.reduction); },
                 [&](const LocalDecl& local) { all(module.tensors[local.tensor].shape); },
                 [&](const Assign& assign) {
                   one(assign.peer);
                   all(assign.indices);
                   one(assign.value);
                 },
                 [&](const TopK& topk) {
                   all(topk.value_indices);
                   all(topk.position_indices);
                   axis(topk.rank);
                   axis(topk.axis);
                   one(topk.body);
                 },
             },
             stmt);
}

/// Calls `visit` with every expression of a body, at any depth.
template <class F>
void VisitExprs(const Module& module, const std::vector<StmtId>& body, const F& visit) {
  for (StmtId id : body) {
    VisitOwnExprs(module, module.stmts[id], visit);
    VisitBlocks(module.stmts[id],
                [&](const std::vector<StmtId>& inside) { VisitExprs(module, inside, visit); });
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

/// Whether the ranges of the axes are read from the tensor.
inline bool ReadsTensor(const Module& module, const std::vector<Axis>& axes, TensorId tensor) {
  auto reads = [&](ExprId bound) {
    return bool{FindExpr(module, bound, [&](const Expr& expr) {
      const auto* load = std::get_if<Load>(&expr);
      return load != nullptr && load->tensor == tensor;
    })};
  };
  return std::any_of(axes.begin(), axes.end(),
                     [&](const Axis& axis) { return reads(axis.lo) || reads(axis.hi); });
}

/// Whether a wait can come before the first task of an SM: it does not depend on the task, whose
/// coordinates are `coords`, and reads no tensor that a wait before it, which does, may be for.
inline bool IsCommonWait(const Module& module, const EventRef& wait,
                         const std::vector<SymbolId>& coords, bool behind_others) {
  bool reads = ReadsTensor(module, wait) || ReadsTensor(module, module.events[wait.event].count);
  return !Mentions(module, wait, coords) && !(reads && behind_others);
}

}  // namespace etc
