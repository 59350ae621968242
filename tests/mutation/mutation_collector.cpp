#include "mutation_collector.h"

#include "ir/rewrite.h"

namespace etc::mutation {
namespace {

ExprId Copy(Module& module, ExprId id) { return module.AddExpr(module.exprs[id]); }

}  // namespace

void Replace(Module& module, ExprId id, const std::function<Expr(ExprId)>& make) {
  ExprId copy = Copy(module, id);
  module.exprs[id] = make(copy);
}

void AddTo(Module& module, ExprId id, int64_t amount) {
  Replace(module, id, [&](ExprId copy) {
    BinaryOp op = amount > 0 ? BinaryOp::Add : BinaryOp::Sub;
    return Expr(Binary{op, copy, MakeInt(module, amount > 0 ? amount : -amount)});
  });
}

void MutationCollector::Add(std::string what, std::function<void(Module&)> apply) {
  mutations_.push_back({std::move(what), std::move(apply), of_dispatch_});
}

void MutationCollector::AddShift(const std::string& what, ExprId id) {
  Add("shift " + what, [id](Module& m) { AddTo(m, id, 1); });
  Add("shift " + what, [id](Module& m) { AddTo(m, id, -1); });
}

void MutationCollector::AddInside(const std::string& what, ExprId id) {
  if (!id) {
    return;
  }
  const Expr& expr = module_.exprs[id];
  if (const auto* call = std::get_if<Call>(&expr)) {
    if (call->op == Intrinsic::Min || call->op == Intrinsic::Max) {
      for (ExprId arg : call->args) {
        Add("drop a limit in " + what, [id, arg](Module& m) { m.exprs[id] = Expr(m.exprs[arg]); });
      }
    }
    if (call->op == Intrinsic::CeilDiv) {
      Add("round down in " + what, [id](Module& m) {
        auto args = std::get<Call>(m.exprs[id]).args;
        m.exprs[id] = Binary{BinaryOp::Div, args[0], args[1]};
      });
    }
    for (ExprId arg : call->args) {
      AddInside(what, arg);
    }
  } else if (const auto* binary = std::get_if<Binary>(&expr)) {
    for (const auto& [from, to] :
         {std::pair{BinaryOp::Lt, BinaryOp::Le}, std::pair{BinaryOp::Le, BinaryOp::Lt},
          std::pair{BinaryOp::Gt, BinaryOp::Ge}, std::pair{BinaryOp::Ge, BinaryOp::Gt},
          std::pair{BinaryOp::Eq, BinaryOp::Ne}}) {
      if (binary->op == from) {
        Add("change a comparison in " + what,
            [id, op = to](Module& m) { std::get<Binary>(m.exprs[id]).op = op; });
      }
    }
    AddInside(what, binary->left);
    AddInside(what, binary->right);
  } else if (const auto* literal = std::get_if<IntLiteral>(&expr)) {
    int64_t value = literal->value;
    Add("change a number in " + what,
        [id, value](Module& m) { m.exprs[id] = IntLiteral{value + 1}; });
    if (value > 0) {
      Add("change a number in " + what,
          [id, value](Module& m) { m.exprs[id] = IntLiteral{value - 1}; });
    }
  } else if (const auto* load = std::get_if<Load>(&expr)) {
    AddElement("a read", load->indices);
  } else if (const auto* reduce = std::get_if<Reduce>(&expr)) {
    for (const Axis& axis : reduce->axes) {
      AddAxis("a reduction", axis);
    }
    AddInside(what, reduce->body);
  } else if (const auto* cast = std::get_if<Cast>(&expr)) {
    AddInside(what, cast->operand);
  }
}

void MutationCollector::AddElement(const std::string& what, const std::vector<ExprId>& indices) {
  for (ExprId index : indices) {
    AddShift("an index of " + what, index);
    AddInside("an index of " + what, index);
  }
  if (indices.size() >= 2) {
    Add("swap indices of " + what,
        [a = indices[0], b = indices[1]](Module& m) { std::swap(m.exprs[a], m.exprs[b]); });
  }
}

void MutationCollector::AddAxis(const std::string& what, const Axis& axis) {
  AddShift("the end of " + what, axis.hi);
  AddInside("the end of " + what, axis.hi);
  if (axis.lo) {
    AddShift("the start of " + what, axis.lo);
    AddInside("the start of " + what, axis.lo);
  }
}

}  // namespace etc::mutation
