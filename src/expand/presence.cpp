#include "expand/presence.h"

#include <fmt/format.h>

#include <algorithm>

#include "expand/inline.h"
#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// Whether the value may differ from range to range of a specialisation.
bool FollowsSizes(const Module& module, ExprId id) {
  return bool{FindExpr(module, id, [&](const Expr& expr) {
    if (const auto* call = std::get_if<Call>(&expr)) {
      return call->op == Intrinsic::Lower || call->op == Intrinsic::Upper;
    }
    const auto* ref = std::get_if<SymbolRef>(&expr);
    if (ref == nullptr) {
      return false;
    }
    const Symbol& symbol = module.symbols[ref->symbol];
    return symbol.kind == SymbolKind::Dim ||
           (symbol.kind == SymbolKind::Const && FollowsSizes(module, symbol.value));
  })};
}

/// The value of a condition that constants decide.
std::optional<bool> Decided(const Module& module, ExprId condition) {
  const auto* binary = std::get_if<Binary>(&module.exprs[condition]);
  if (binary != nullptr && (binary->op == BinaryOp::And || binary->op == BinaryOp::Or)) {
    bool absorbing = binary->op == BinaryOp::Or;
    std::optional<bool> left = Decided(module, binary->left);
    std::optional<bool> right = Decided(module, binary->right);
    if (left == absorbing || right == absorbing) {
      return absorbing;
    }
    return left && right ? std::optional(!absorbing) : std::nullopt;
  }
  return FollowsSizes(module, condition) ? std::nullopt : EvaluateBool(module, condition, {});
}

/// The side that a `select` always takes, or an absent id.
ExprId DecidedSide(const Module& module, ExprId id) {
  const auto* call = std::get_if<Call>(&module.exprs[id]);
  if (call == nullptr || call->op != Intrinsic::Select) {
    return {};
  }
  std::optional<bool> first = Decided(module, call->args[0]);
  ExprId side = first ? call->args[*first ? 1 : 2] : ExprId{};
  return side && KindOf(module, side) == KindOf(module, id) ? side : ExprId{};
}

void TakeDecidedSide(Module& module, ExprId id) {
  while (ExprId side = DecidedSide(module, id)) {
    Expr taken = module.exprs[side];
    module.exprs[id] = std::move(taken);
  }
}

std::vector<StmtId> WithoutDecidedIfs(Module& module, const std::vector<StmtId>& body) {
  std::vector<StmtId> kept;
  for (StmtId id : body) {
    if (const auto* branch = std::get_if<If>(&module.stmts[id])) {
      if (std::optional<bool> taken = Decided(module, branch->condition)) {
        std::vector<StmtId> side =
            WithoutDecidedIfs(module, *taken ? branch->body : branch->otherwise);
        kept.insert(kept.end(), side.begin(), side.end());
        continue;
      }
    }
    std::visit(Overloaded{
                   [&](For& loop) { loop.body = WithoutDecidedIfs(module, loop.body); },
                   [&](If& branch) {
                     branch.body = WithoutDecidedIfs(module, branch.body);
                     branch.otherwise = WithoutDecidedIfs(module, branch.otherwise);
                   },
                   [](const OneOf<Let, LetPair, LocalDecl, Assign, TopK> auto&) {},
               },
               module.stmts[id]);
    kept.push_back(id);
  }
  return kept;
}

/// Calls `visit` with each tensor that a body stores to, and the statement.
template <class F>
void VisitAllStored(const Module& module, const std::vector<StmtId>& body, const F& visit) {
  for (StmtId id : body) {
    VisitStored(module.stmts[id], [&](TensorId tensor) { visit(tensor, id); });
    VisitBlocks(module.stmts[id],
                [&](const std::vector<StmtId>& inside) { VisitAllStored(module, inside, visit); });
  }
}

/// Decides the conditions of the parameters of one function.
class Conditions {
 public:
  Conditions(Module& module, const std::string& function, const Substitution& values,
             SourceRange range, Diagnostics& diagnostics)
      : module_(module),
        function_(function),
        values_(values),
        range_(range),
        diagnostics_(diagnostics) {}

  /// Whether all were decided.
  bool known() const { return known_; }

  bool Hold(ExprId condition, const std::string& param, SourceRange declared) {
    if (!condition) {
      return true;
    }
    std::optional<bool> holds = Decided(module_, Clone(module_, condition, values_));
    if (!holds) {
      diagnostics_
          .Error(DiagnosticKind::Argument, range_,
                 fmt::format("whether `@{}` has `{}` is not known: constants do not decide `{}`",
                             function_, param, Print(module_, condition)))
          .notes.push_back({declared, "the parameter is declared here"});
      known_ = false;
    }
    return holds.value_or(false);
  }

 private:
  Module& module_;
  const std::string& function_;
  const Substitution& values_;
  SourceRange range_;
  Diagnostics& diagnostics_;
  bool known_ = true;
};

/// Takes the parameters that there are not out of `params`, and yields them. Yields nothing where
/// every parameter is there in any case, and where a condition is not decided.
std::optional<std::set<TensorId>> TakeAbsent(Module& module, const std::string& function,
                                             std::vector<TensorId>& params, SourceRange range,
                                             Diagnostics& diagnostics) {
  if (!HasConditionalParams(module, params)) {
    return std::nullopt;
  }
  std::optional<std::vector<TensorId>> present =
      PresentParams(module, function, params, {}, range, diagnostics);
  if (!present) {
    return std::nullopt;
  }
  std::set<TensorId> absent(params.begin(), params.end());
  for (TensorId id : *present) {
    absent.erase(id);
    module.tensors[id].present = {};
  }
  params = *std::move(present);
  return absent;
}

}  // namespace

bool HasConditionalParams(const Module& module, const std::vector<TensorId>& params) {
  return std::any_of(params.begin(), params.end(),
                     [&](TensorId id) { return bool{module.tensors[id].present}; });
}

std::optional<std::vector<TensorId>> PresentParams(Module& module, const std::string& name,
                                                   const std::vector<TensorId>& params,
                                                   const Substitution& values, SourceRange range,
                                                   Diagnostics& diagnostics) {
  Conditions conditions(module, name, values, range, diagnostics);
  std::vector<TensorId> present;
  for (TensorId id : params) {
    const Tensor& param = module.tensors[id];
    if (conditions.Hold(param.present, "%" + param.name, param.range)) {
      present.push_back(id);
    }
  }
  return conditions.known() ? std::optional(std::move(present)) : std::nullopt;
}

bool HasConditionalScalars(const Module& module, const std::vector<SymbolId>& scalars) {
  return std::any_of(scalars.begin(), scalars.end(),
                     [&](SymbolId id) { return bool{module.symbols[id].present}; });
}

std::optional<std::vector<bool>> PresentScalars(Module& module, const std::string& name,
                                                const std::vector<SymbolId>& scalars,
                                                const Substitution& values, SourceRange range,
                                                Diagnostics& diagnostics) {
  Conditions conditions(module, name, values, range, diagnostics);
  std::vector<bool> present;
  for (SymbolId id : scalars) {
    const Symbol& scalar = module.symbols[id];
    present.push_back(conditions.Hold(scalar.present, scalar.name, scalar.range));
  }
  return conditions.known() ? std::optional(std::move(present)) : std::nullopt;
}

std::optional<std::vector<SymbolId>> TakePresentScalars(Module& module, CallNode& call,
                                                        const Device& device,
                                                        const Substitution& values,
                                                        SourceRange range,
                                                        Diagnostics& diagnostics) {
  std::optional<std::vector<bool>> present =
      PresentScalars(module, device.name, device.scalars, values, range, diagnostics);
  if (!present) {
    return std::nullopt;
  }
  bool one_each = call.scalars.size() == device.scalars.size();  // or the verifier reports it
  std::vector<SymbolId> scalars;
  std::vector<ExprId> given;
  for (size_t i = 0; i < device.scalars.size(); ++i) {
    if ((*present)[i]) {
      scalars.push_back(device.scalars[i]);
      given.push_back(one_each ? call.scalars[i] : ExprId{});
    }
  }
  call.scalars = one_each ? given : call.scalars;
  return scalars;
}

std::vector<StmtId> WithoutDecidedChoices(Module& module, const std::vector<StmtId>& body) {
  std::vector<StmtId> kept = WithoutDecidedIfs(module, body);
  VisitExprs(module, kept, [&](ExprId id) { TakeDecidedSide(module, id); });
  return kept;
}

void TakeDecidedSides(Module& module, ExprId expr) {
  VisitExprs(module, expr, [&](ExprId id) { TakeDecidedSide(module, id); });
}

void CheckUnused(const Module& module, const Device& device, const std::set<TensorId>& tensors,
                 const std::set<SymbolId>& scalars, Diagnostics& diagnostics) {
  std::set<std::string> told;
  auto use = [&](const std::string& param, ExprId condition, SourceRange range) {
    if (told.insert(param).second) {
      diagnostics.Error(DiagnosticKind::Argument, range,
                        fmt::format("`{}` is used, but `@{}` has it only `if {}`", param,
                                    device.name, Print(module, condition)));
    }
  };
  auto tensor = [&](TensorId id, SourceRange range) {
    if (tensors.contains(id)) {
      use("%" + module.tensors[id].name, module.tensors[id].present, range);
    }
  };
  auto expr = [&](ExprId id) {
    if (const auto* load = std::get_if<Load>(&module.exprs[id])) {
      tensor(load->tensor, module.RangeOf(id));
    }
    const auto* ref = std::get_if<SymbolRef>(&module.exprs[id]);
    if (ref != nullptr && scalars.contains(ref->symbol)) {
      const Symbol& symbol = module.symbols[ref->symbol];
      use(symbol.name, symbol.present, module.RangeOf(id));
    }
  };
  for (const Axis& axis : device.tasks) {
    VisitExprs(module, axis.lo, expr);
    VisitExprs(module, axis.hi, expr);
  }
  for (TensorId id : device.params) {
    VisitExprs(module, module.tensors[id].value_lo, expr);
    VisitExprs(module, module.tensors[id].value_hi, expr);
  }
  VisitExprs(module, device.body, expr);
  VisitAllStored(module, device.body,
                 [&](TensorId id, StmtId store) { tensor(id, module.RangeOf(store)); });
}

void KeepPresentParams(Module& module, Device& device, Diagnostics& diagnostics) {
  std::optional<std::set<TensorId>> absent =
      TakeAbsent(module, device.name, device.params, device.range, diagnostics);
  if (!absent) {
    return;
  }
  for (Impl& impl : device.impls) {
    for (auto* operands : {&impl.preloaded, &impl.fetched, &impl.flagged, &impl.phased}) {
      std::erase_if(*operands, [&](TensorId operand) { return absent->contains(operand); });
    }
    std::erase_if(impl.boxes, [&](const Box& box) { return absent->contains(box.tensor); });
  }
  device.body = WithoutDecidedChoices(module, device.body);
  CheckUnused(module, device, *absent, {}, diagnostics);
}

void KeepPresentParams(Module& module, Graph& graph, Diagnostics& diagnostics) {
  std::optional<std::set<TensorId>> absent =
      TakeAbsent(module, graph.name, graph.params, graph.range, diagnostics);
  if (!absent) {
    return;
  }
  for (TensorId param : graph.params) {
    TakeDecidedSides(module, module.tensors[param].value_lo);
    TakeDecidedSides(module, module.tensors[param].value_hi);
  }
  VisitNodes(module, graph.body, [&](NodeId id) {
    if (auto* call = std::get_if<CallNode>(&module.nodes[id])) {
      LeaveOut(*call, *absent);
    }
  });
}

}  // namespace etc
