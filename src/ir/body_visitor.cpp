#include "ir/body_visitor.h"

#include "ir/expr.h"
#include "ir/overloaded.h"

namespace etc {

void BodyVisitor::VisitBlock(const std::vector<StmtId>& body) {
  AroundBlock([&] {
    for (StmtId id : body) {
      const Stmt& stmt = visited_.stmts[id];
      if (Wants(stmt)) {
        std::visit([&](const auto& each) { VisitStmt(id, each); }, stmt);
      }
    }
  });
}

void BodyVisitor::VisitStmt(StmtId id, const For& loop) {
  AroundLoop(id, loop, [&] {
    VisitAxes(loop.axes, loop.sequential ? AxisOf::Scan : AxisOf::For);
    VisitBlock(loop.body);
  });
}

void BodyVisitor::VisitStmt(StmtId id, const If& branch) {
  VisitExpr(branch.condition);
  AroundIf(id, branch, [&] {
    for (bool holds : {true, false}) {
      AroundSide({branch.condition, holds, true},
                 [&] { VisitBlock(holds ? branch.body : branch.otherwise); });
    }
  });
}

void BodyVisitor::VisitStmt(StmtId, const Let& let) {
  VisitExpr(let.value);
  OnLet(let);
}

void BodyVisitor::VisitStmt(StmtId, const LetPair& pair) {
  VisitExpr(pair.reduction);
  OnLetPair(pair);
}

void BodyVisitor::VisitStmt(StmtId, const LocalDecl& local) { OnLocal(local); }

void BodyVisitor::VisitStmt(StmtId id, const Assign& assign) {
  using Use = BodyElement::Use;
  VisitExpr(assign.value);
  VisitExpr(assign.peer);
  VisitAll(assign.indices);
  OnAssign(assign);
  SourceRange range = visited_.RangeOf(id);
  if (assign.adds) {
    OnElement({Use::ReadToAdd, assign.tensor, assign.indices, range});
  }
  OnElement({Use::Write, assign.tensor, assign.indices, range, assign.peer});
}

void BodyVisitor::VisitStmt(StmtId id, const TopK& topk) {
  AroundRanks(id, topk, [&] {
    VisitAxis(topk.rank, AxisOf::Ranks);
    AroundElements(topk, [&] {
      VisitAxis(topk.axis, AxisOf::Elements);
      VisitExpr(topk.body);
    });
    SourceRange range = visited_.RangeOf(id);
    VisitAll(topk.value_indices);
    OnElement({BodyElement::Use::Write, topk.values, topk.value_indices, range});
    VisitAll(topk.position_indices);
    OnElement({BodyElement::Use::Write, topk.positions, topk.position_indices, range});
  });
}

void BodyVisitor::VisitAxes(const std::vector<Axis>& axes, AxisOf of) {
  for (const Axis& axis : axes) {
    VisitAxis(axis, of);
  }
}

void BodyVisitor::VisitAxis(const Axis& axis, AxisOf of) {
  if (WantsBounds(axis)) {
    VisitExpr(axis.lo);
    VisitExpr(axis.hi);
  }
  OnVariable(axis, of);
}

void BodyVisitor::VisitAll(const std::vector<ExprId>& ids) {
  for (ExprId id : ids) {
    VisitExpr(id);
  }
}

void BodyVisitor::VisitExpr(ExprId id) {
  if (!id) {
    return;
  }
  std::visit(
      Overloaded{
          [](const OneOf<IntLiteral, FloatLiteral, BoolLiteral, SymbolRef> auto&) {},
          [&](const OneOf<Cast, Unary> auto& one) { VisitExpr(one.operand); },
          [&](const OneOf<Load, Binary, Call, Reduce> auto& expr) { VisitOperands(id, expr); },
      },
      visited_.exprs[id]);
  OnExpr(id);
}

void BodyVisitor::VisitOperands(ExprId id, const Load& load) {
  VisitAll(load.indices);
  OnElement({BodyElement::Use::Read, load.tensor, load.indices, visited_.RangeOf(id)});
}

void BodyVisitor::VisitOperands(ExprId, const Binary& binary) {
  VisitExpr(binary.left);
  if (binary.op == BinaryOp::And || binary.op == BinaryOp::Or) {
    AroundSide({binary.left, binary.op == BinaryOp::And, false}, [&] { VisitExpr(binary.right); });
  } else {
    VisitExpr(binary.right);
  }
}

void BodyVisitor::VisitOperands(ExprId, const Call& call) {
  if (KindOf(call.op) != IntrinsicKind::Choice) {
    VisitAll(call.args);
    return;
  }
  VisitExpr(call.args[0]);
  for (bool holds : {true, false}) {
    AroundSide({call.args[0], holds, false}, [&] { VisitExpr(call.args[holds ? 1 : 2]); });
  }
}

void BodyVisitor::VisitOperands(ExprId, const Reduce& reduce) {
  if (Wants(reduce)) {
    AroundReduction(reduce, [&] {
      VisitAxes(reduce.axes, AxisOf::Reduction);
      VisitExpr(reduce.body);
    });
  }
}

}  // namespace etc
