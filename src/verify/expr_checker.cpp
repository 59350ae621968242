#include "verify/expr_checker.h"

#include <fmt/format.h>

#include "ir/printer.h"
#include "ir/walk.h"
#include "verify/floats.h"
#include "verify/wording.h"

namespace etc {

std::string_view Describe(ValueKind kind) {
  switch (kind) {
    case ValueKind::Int:
      return "an integer";
    case ValueKind::Float:
      return "a float";
    case ValueKind::Double:
      return "a double";
    case ValueKind::Bool:
      return "a boolean";
    case ValueKind::Error:
      break;
  }
  return "unknown";
}

ValueKind ExprChecker::Check(ExprId id) {
  ValueKind kind = Kind(id);
  if (kind != ValueKind::Error) {
    CheckFloats(module_, id, kind, diagnostics_);
  }
  return kind;
}

void ExprChecker::Expect(ExprId id, ValueKind wanted, const std::string& what) {
  ValueKind kind = Kind(id);
  if (!IsWrong(id, kind, wanted, what) && kind != ValueKind::Error) {
    CheckFloats(module_, id, wanted, diagnostics_);
  }
}

void ExprChecker::ExpectStored(ExprId id, ValueKind element, const std::string& what) {
  ValueKind kind = Kind(id);
  bool rounds = element == ValueKind::Float && kind == ValueKind::Double;
  if (rounds || (!IsWrong(id, kind, element, what) && kind != ValueKind::Error)) {
    CheckFloats(module_, id, rounds ? kind : element, diagnostics_);
  }
}

void ExprChecker::CheckAxes(const std::vector<Axis>& axes) {
  CheckRanges(axes);
  for (const Axis& axis : axes) {
    for (ExprId bound : {axis.lo, axis.hi}) {
      if (bound) {
        CheckFloats(module_, bound, ValueKind::Int, diagnostics_);
      }
    }
  }
}

void ExprChecker::CheckElement(TensorId id, const std::vector<ExprId>& indices, SourceRange range) {
  CheckPlace(id, indices, range);
  for (ExprId index : indices) {
    CheckFloats(module_, index, ValueKind::Int, diagnostics_);
  }
}

ValueKind ExprChecker::Kind(ExprId id) {
  size_t before = diagnostics_.error_count();
  ValueKind kind =
      std::visit([&](const auto& expr) { return KindOf(id, expr); }, module_.exprs[id]);
  if (kind == ValueKind::Int && diagnostics_.error_count() == before) {
    CheckOverflow(id);
  }
  return kind;
}

void ExprChecker::Require(ExprId id, ValueKind wanted, const std::string& what) {
  IsWrong(id, Kind(id), wanted, what);
}

/// An integer is a float where one is wanted, and both are doubles.
bool ExprChecker::IsWrong(ExprId id, ValueKind kind, ValueKind wanted, const std::string& what) {
  bool promotes = (IsFloating(wanted) && kind == ValueKind::Int) ||
                  (wanted == ValueKind::Double && kind == ValueKind::Float);
  if (kind == ValueKind::Error || kind == wanted || promotes) {
    return false;
  }
  Wrong(id, fmt::format("{} must be {}, but `{}` is {}", what, Describe(wanted), Print(module_, id),
                        Describe(kind)));
  return true;
}

void ExprChecker::CheckRanges(const std::vector<Axis>& axes) {
  for (const Axis& axis : axes) {
    const std::string& name = module_.symbols[axis.var].name;
    if (axis.lo) {
      Require(axis.lo, ValueKind::Int, fmt::format("the lower bound of `{}`", name));
    }
    Require(axis.hi, ValueKind::Int, fmt::format("the bound of `{}`", name));
  }
}

void ExprChecker::CheckPlace(TensorId id, const std::vector<ExprId>& indices, SourceRange range) {
  const Tensor& tensor = module_.tensors[id];
  if (indices.size() != tensor.shape.size()) {
    diagnostics_
        .Error(DiagnosticKind::Rank, range,
               fmt::format("`%{}` has {}, but {} {} given", tensor.name,
                           Counted(tensor.shape.size(), "dimension"), indices.size(),
                           indices.size() == 1 ? "index is" : "indices are"))
        .notes.push_back(DeclaredHere(tensor));
  }
  for (ExprId index : indices) {
    Require(index, ValueKind::Int, fmt::format("an index of `%{}`", tensor.name));
  }
}

bool ExprChecker::CheckClosed(ExprId id, bool dims_allowed, const std::string& what,
                              DiagnosticKind kind) {
  ExprId load = FindExpr(module_, id, [](const Expr& expr) {
    return std::holds_alternative<Load>(expr) || std::holds_alternative<Reduce>(expr);
  });
  if (load) {
    diagnostics_.Error(
        kind, module_.RangeOf(load),
        fmt::format("{} must not {}, but it contains `{}`", what,
                    std::holds_alternative<Load>(module_.exprs[load]) ? "read a tensor"
                                                                      : "contain a reduction",
                    Print(module_, load)));
    return false;
  }
  bool ok = true;
  ExprId inside_bound;  // the argument of `lower` or `upper`, where a dimension is always allowed
  VisitExprs(module_, id, [&](ExprId inner) {
    const Expr& expr = module_.exprs[inner];
    if (const auto* call = std::get_if<Call>(&expr)) {
      if (etc::KindOf(call->op) == IntrinsicKind::Limit && !call->args.empty()) {
        inside_bound = call->args[0];
      }
      return;
    }
    const auto* ref = std::get_if<SymbolRef>(&expr);
    if (ref == nullptr || inner == inside_bound) {
      return;
    }
    const Symbol& symbol = module_.symbols[ref->symbol];
    bool follows_dims = symbol.kind == SymbolKind::Dim || symbol.kind == SymbolKind::Value;
    if (symbol.kind == SymbolKind::Const || (follows_dims && dims_allowed)) {
      return;
    }
    Diagnostic& error =
        diagnostics_.Error(kind, module_.RangeOf(inner),
                           fmt::format("{} must be made of constants{}, but `{}` is {}", what,
                                       dims_allowed ? " and dimensions" : "", symbol.name,
                                       symbol.kind == SymbolKind::Dim   ? "a dimension"
                                       : symbol.kind == SymbolKind::Sms ? "known only at launch"
                                                                        : "a variable"));
    if (symbol.range.IsValid()) {
      error.notes.push_back({symbol.range, fmt::format("`{}` is declared here", symbol.name)});
    }
    ok = false;
  });
  return ok;
}

}  // namespace etc
