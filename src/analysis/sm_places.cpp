#include "analysis/sm_places.h"

#include "analysis/sets/task_pairs.h"
#include "analysis/sets/task_scope.h"
#include "ir/overloaded.h"
#include "ir/task_count.h"
#include "ir/walk.h"

namespace etc {
namespace {

bool MentionsSms(const Module& module, ExprId id) {
  return bool{FindExpr(module, id, [&](const Expr& expr) {
    const auto* ref = std::get_if<SymbolRef>(&expr);
    if (ref == nullptr) {
      return false;
    }
    const Symbol& symbol = module.symbols[ref->symbol];
    return symbol.kind == SymbolKind::Sms ||
           (symbol.kind == SymbolKind::Value && MentionsSms(module, symbol.value));
  })};
}

/// Whether the value modulo `sms` stays the same with 0 in the place of `sms`: where nothing is
/// made of it but sums and products.
bool IsPolynomialInSms(const Module& module, ExprId id) {
  if (!MentionsSms(module, id)) {
    return true;
  }
  return std::visit(
      Overloaded{
          [&](const SymbolRef& ref) {
            const Symbol& symbol = module.symbols[ref.symbol];
            return symbol.kind == SymbolKind::Sms || IsPolynomialInSms(module, symbol.value);
          },
          [&](const Unary& unary) {
            return unary.op == UnaryOp::Neg && IsPolynomialInSms(module, unary.operand);
          },
          [&](const Binary& binary) {
            return (binary.op == BinaryOp::Add || binary.op == BinaryOp::Sub ||
                    binary.op == BinaryOp::Mul) &&
                   IsPolynomialInSms(module, binary.left) &&
                   IsPolynomialInSms(module, binary.right);
          },
          [](const auto&) { return false; },
      },
      module.exprs[id]);
}

/// The pairs of a relation, as a set of parameters with these names.
Set ToPairs(const Map& relation, const std::vector<std::string>& in,
            const std::vector<std::string>& out) {
  Map map = relation;
  auto move = [&](const std::vector<std::string>& names, isl_dim_type type) {
    for (const std::string& name : names) {
      auto at = static_cast<unsigned>(isl_map_dim(map.get(), isl_dim_param));
      map = Map(isl_map_move_dims(map.copy(), isl_dim_param, at, type, 0, 1));
      map = Map(isl_map_set_dim_name(map.copy(), isl_dim_param, at, name.c_str()));
    }
  };
  move(in, isl_dim_in);
  move(out, isl_dim_out);
  return Set(isl_map_params(map.copy()));
}

}  // namespace

SmPlaces::SmPlaces(Unknowns& unknowns) : unknowns_(unknowns) {
  for (const ProgramCall& call : unknowns.program().calls) {
    fixed_ = fixed_ && !ReadsTensor(unknowns.module(), call.axes);
  }
}

/// Null where the number of a task is no closed form, since ranges of axes depend on other axes.
PwAff SmPlaces::PlaceOf(const ProgramCall& call, int instance) {
  const Module& module = unknowns_.module();
  const auto* share = std::get_if<Share>(&module.nodes[call.node]);
  TaskScope task(unknowns_, call, instance);
  if (share == nullptr || call.dispatch || !share->first || OuterAxes(module, call.axes) > 0 ||
      !IsPolynomialInSms(module, share->first)) {
    return {};
  }
  Converter& converter = task.converter;
  converter.Bind(module.sms, unknowns_.Constant(0));
  PwAff number = unknowns_.Constant(0);
  for (size_t i = 0; i < call.axes.size(); ++i) {
    const Axis& axis = call.axes[i];
    PwAff lo = axis.lo ? converter.Int(axis.lo) : unknowns_.Constant(0);
    number = converter.Times(number, converter.Int(axis.hi) - lo) +
             unknowns_.Param(CoordinateName(i, instance)) - lo;
  }
  return converter.Int(share->first) + number;
}

Set SmPlaces::Apart(const EdgeRelation& notify, const EdgeRelation& wait) {
  const ProgramCall& notifier = unknowns_.program().calls[notify.call];
  const ProgramCall& waiter = unknowns_.program().calls[wait.call];
  Map relation = After(notify.elements, Map(isl_map_reverse(wait.elements.copy())));
  if (IsEmpty(relation)) {
    return unknowns_.All() - unknowns_.All();
  }
  if (!fixed_ || wait.edge->common) {
    return {};
  }
  PwAff first = PlaceOf(notifier, 1);
  PwAff second = PlaceOf(waiter, 2);
  if (!first || !second) {
    return {};
  }
  PwAff notifies = unknowns_.Param(kNotifies);
  PwAff waits = unknowns_.Param(kWaits);
  Set apart = ToPairs(relation, TaskNames(notifier, 1), TaskNames(waiter, 2)) &
              Eq(notifies, first) & Eq(waits, second) & Ne(notifies, waits);
  apart = unknowns_.CloseVariables(unknowns_.Close(apart));
  return IsEmpty(apart) ? apart : unknowns_.Close(unknowns_.WithAxioms(apart));
}

}  // namespace etc
