#include "analysis/element_accesses.h"

namespace etc {
namespace {

class Collector {
 public:
  Collector(const Module& module, const Device& device) : module_(module) {
    AddAxes(device.tasks);
    for (SymbolId scalar : device.scalars) {
      variables_.push_back({scalar, module.symbols[scalar].lo, module.symbols[scalar].hi});
    }
    Block(device.body);
  }

  std::vector<ElementAccess> accesses;

 private:
  void Block(const std::vector<StmtId>& stmts) {
    size_t variables = variables_.size();
    for (StmtId id : stmts) {
      std::visit([&](const auto& stmt) { Visit(stmt); }, module_.stmts[id]);
    }
    variables_.resize(variables);
  }

  void Visit(const For& loop) {
    size_t variables = variables_.size();
    AddAxes(loop.axes);
    Block(loop.body);
    variables_.resize(variables);
  }

  void Visit(const If& branch) {
    VisitExpr(branch.condition);
    guards_.push_back({branch.condition, true});
    Block(branch.body);
    guards_.back().wanted = false;
    Block(branch.otherwise);
    guards_.pop_back();
  }

  void Visit(const Let& let) {
    VisitExpr(let.value);
    variables_.push_back({let.symbol, let.value, {}, true});
  }

  void Visit(const LetPair& pair) {
    VisitExpr(pair.reduction);
    variables_.push_back({pair.index, pair.reduction, {}, true});
  }

  void Visit(const LocalDecl&) {}

  void Visit(const Assign& assign) {
    Element(assign.tensor, assign.indices, true);
    if (assign.adds) {
      Element(assign.tensor, assign.indices, false);
    }
    VisitExpr(assign.value);
  }

  void Visit(const TopK& topk) {
    size_t variables = variables_.size();
    AddAxes({topk.rank});
    Element(topk.values, topk.value_indices, true);
    Element(topk.positions, topk.position_indices, true);
    variables_.resize(variables);
    AddAxes({topk.axis});
    VisitExpr(topk.body);
    variables_.resize(variables);
  }

  void AddAxes(const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      VisitExpr(axis.lo);
      VisitExpr(axis.hi);
      variables_.push_back({axis.var, axis.lo, axis.hi});
    }
  }

  void Element(TensorId tensor, const std::vector<ExprId>& indices, bool writes) {
    for (ExprId index : indices) {
      VisitExpr(index);
    }
    accesses.push_back({tensor, writes, indices, variables_, guards_});
  }

  void VisitExpr(ExprId id) {
    if (id) {
      std::visit([&](const auto& expr) { Visit(expr); }, module_.exprs[id]);
    }
  }

  void Visit(const IntLiteral&) {}
  void Visit(const FloatLiteral&) {}
  void Visit(const BoolLiteral&) {}
  void Visit(const SymbolRef&) {}
  void Visit(const Load& load) { Element(load.tensor, load.indices, false); }
  void Visit(const Cast& cast) { VisitExpr(cast.operand); }
  void Visit(const Unary& unary) { VisitExpr(unary.operand); }

  void Visit(const Binary& binary) {
    VisitExpr(binary.left);
    bool lazy = binary.op == BinaryOp::And || binary.op == BinaryOp::Or;
    if (lazy) {
      guards_.push_back({binary.left, binary.op == BinaryOp::And});
    }
    VisitExpr(binary.right);
    if (lazy) {
      guards_.pop_back();
    }
  }

  void Visit(const Call& call) {
    if (KindOf(call.op) != IntrinsicKind::Choice) {
      for (ExprId arg : call.args) {
        VisitExpr(arg);
      }
      return;
    }
    VisitExpr(call.args[0]);
    for (bool side : {true, false}) {
      guards_.push_back({call.args[0], side});
      VisitExpr(call.args[side ? 1 : 2]);
      guards_.pop_back();
    }
  }

  void Visit(const Reduce& reduce) {
    size_t variables = variables_.size();
    AddAxes(reduce.axes);
    VisitExpr(reduce.body);
    variables_.resize(variables);
  }

  const Module& module_;
  std::vector<BodyVariable> variables_;
  std::vector<Guard> guards_;
};

}  // namespace

std::vector<ElementAccess> CollectAccesses(const Module& module, const Device& device) {
  return Collector(module, device).accesses;
}

}  // namespace etc
