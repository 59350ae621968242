#include "verify/floats.h"

#include <fmt/format.h>

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// The value of a float that stands for itself: a literal or a constant.
std::optional<double> Written(const Module& module, const Expr& expr) {
  if (const auto* literal = std::get_if<FloatLiteral>(&expr)) {
    return literal->value;
  }
  const auto* ref = std::get_if<SymbolRef>(&expr);
  bool constant = ref != nullptr && module.symbols[ref->symbol].kind == SymbolKind::Const;
  ExprId value = constant ? module.symbols[ref->symbol].value : ExprId{};
  return value && KindOf(module, value) == ValueKind::Float ? EvaluateFloat(module, value, {})
                                                            : std::nullopt;
}

bool IsTooLarge(const Module& module, const Expr& expr) {
  auto value = Written(module, expr);
  return value && !FitsFloat(*value);
}

class FloatWalk {
 public:
  FloatWalk(const Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics) {}

  void Walk(ExprId id, ValueKind wanted) {
    ValueKind kind = KindOf(module_, id);
    if (wanted == ValueKind::Double && kind == ValueKind::Float && EvaluateFloat(module_, id, {})) {
      return;  // it is a double from the start
    }
    const Expr& expr = module_.exprs[id];
    if (IsTooLarge(module_, expr)) {
      Report(id);
    }
    std::visit([&](const auto& e) { Inside(e, kind); }, expr);
  }

 private:
  void Inside(const IntLiteral&, ValueKind) {}
  void Inside(const FloatLiteral&, ValueKind) {}
  void Inside(const BoolLiteral&, ValueKind) {}
  void Inside(const SymbolRef&, ValueKind) {}
  void Inside(const Load& load, ValueKind) {
    for (ExprId index : load.indices) {
      Walk(index, ValueKind::Int);
    }
  }
  void Inside(const Cast& cast, ValueKind kind) { Walk(cast.operand, kind); }
  void Inside(const Unary& unary, ValueKind kind) { Walk(unary.operand, kind); }
  void Inside(const Binary& binary, ValueKind kind) {
    bool is_double =
        kind == ValueKind::Double ||
        (IsComparison(binary.op) && (KindOf(module_, binary.left) == ValueKind::Double ||
                                     KindOf(module_, binary.right) == ValueKind::Double));
    for (ExprId side : {binary.left, binary.right}) {
      Walk(side, is_double ? ValueKind::Double : kind);
    }
  }
  void Inside(const Call& call, ValueKind kind) {
    for (ExprId arg : call.args) {
      Walk(arg, kind);
    }
  }
  void Inside(const Reduce& reduce, ValueKind) {
    for (const Axis& axis : reduce.axes) {
      for (ExprId bound : {axis.lo, axis.hi}) {
        if (bound) {
          Walk(bound, ValueKind::Int);
        }
      }
    }
    Walk(reduce.body, KindOf(module_, reduce.body));
  }

  void Report(ExprId id) {
    const Expr& expr = module_.exprs[id];
    bool literal = std::holds_alternative<FloatLiteral>(expr);
    Diagnostic& error = diagnostics_.Error(
        DiagnosticKind::Constant, module_.RangeOf(id),
        fmt::format("`{}`{} is beyond the largest float of 32 bits, 3.4028235e38",
                    Print(module_, id),
                    literal ? "" : fmt::format(", which is {},", *Written(module_, expr))));
    if (const auto* ref = std::get_if<SymbolRef>(&expr)) {
      const Symbol& symbol = module_.symbols[ref->symbol];
      error.notes.push_back({symbol.range, fmt::format("`{}` is declared here", symbol.name)});
    }
    error.notes.push_back({{}, "`inf` is infinity, and `f64(x)` is a float of 64 bits"});
  }

  const Module& module_;
  Diagnostics& diagnostics_;
};

}  // namespace

void CheckFloats(const Module& module, ExprId id, ValueKind wanted, Diagnostics& diagnostics) {
  if (FindExpr(module, id, [&](const Expr& expr) { return IsTooLarge(module, expr); })) {
    FloatWalk(module, diagnostics).Walk(id, wanted);
  }
}

}  // namespace etc
