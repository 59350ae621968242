#include <fmt/format.h>

#include <algorithm>

#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/requirements.h"
#include "ir/walk.h"
#include "verify/checks.h"
#include "verify/expr_checker.h"
#include "verify/values.h"

namespace etc {
namespace {

class ConstantChecks {
 public:
  ConstantChecks(const Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics), exprs_(module, diagnostics) {
    exprs_.LeaveOperands();
  }

  void Constant(const Symbol& symbol) {
    std::string what = fmt::format("the constant `{}`", symbol.name);
    size_t before = diagnostics_.error_count();
    if (exprs_.CheckClosed(symbol.value, false, what, DiagnosticKind::Constant)) {
      exprs_.CheckExact(symbol.value);
    }
    if (diagnostics_.error_count() != before) {
      return;
    }
    if (!ValueText(module_, symbol.value) && !UsesReported(symbol.value)) {
      diagnostics_.Error(
          DiagnosticKind::Constant, module_.RangeOf(symbol.value),
          fmt::format("{} has no value: {}", what, WhyNoValue(module_, symbol.value)));
    }
  }

  void Dimension(const Symbol& symbol) {
    auto lo = Bound(symbol, symbol.lo, "lower bound");
    auto hi = Bound(symbol, symbol.hi, "upper bound");
    auto multiple =
        symbol.multiple ? Bound(symbol, symbol.multiple, "multiple") : std::optional<int64_t>(1);
    if (!lo || !hi || !multiple) {
      return;
    }
    auto wrong = [&](ExprId at, std::string message) {
      diagnostics_.Error(DiagnosticKind::Dimension, module_.RangeOf(at), std::move(message));
    };
    if (*lo < 0) {
      wrong(symbol.lo, fmt::format("the lower bound of `{}` must not be negative, but it is {}",
                                   symbol.name, *lo));
    } else if (*lo > *hi) {
      wrong(symbol.hi,
            fmt::format("the range of `{}` is empty: {} is above {}", symbol.name, *lo, *hi));
    } else if (*multiple < 1) {
      wrong(symbol.multiple, fmt::format("the multiple of `{}` must be at least 1, but it is {}",
                                         symbol.name, *multiple));
    } else if (*lo % *multiple != 0 || *hi % *multiple != 0) {
      bool low = *lo % *multiple != 0;
      wrong(low ? symbol.lo : symbol.hi,
            fmt::format("the {} bound of `{}` must be a multiple of {}, but it is {}",
                        low ? "lower" : "upper", symbol.name, *multiple, low ? *lo : *hi));
    }
  }

  void Requirement(const Require& require) {
    size_t before = diagnostics_.error_count();
    exprs_.CheckClosed(require.condition, true, "a requirement", DiagnosticKind::Requirement);
    if (diagnostics_.error_count() != before) {
      return;
    }
    exprs_.ExpectBool(require.condition, "a requirement");
    if (diagnostics_.error_count() != before) {
      return;
    }
    if (!DimsIn(module_, require.condition).empty()) {
      return OfLaunch(require.condition);
    }
    if (EvaluateBool(module_, require.condition, {}) == true) {
      return;
    }
    const ExprId broken = BrokenPart(require.condition);
    std::string text = Print(module_, broken);
    SourceRange range = module_.RangeOf(broken);
    if (!EvaluateBool(module_, broken, {})) {
      if (!UsesReported(broken)) {
        diagnostics_.Error(DiagnosticKind::Requirement, range,
                           fmt::format("`{}` has no value: {}", text, WhyNoValue(module_, broken)));
      }
      return;
    }
    // With a number of ranks in the place of their dimension, it may have become `false`.
    bool is_folded = std::holds_alternative<BoolLiteral>(module_.exprs[broken]);
    Diagnostic& error =
        diagnostics_.Error(DiagnosticKind::Requirement, range,
                           is_folded ? "the requirement does not hold"
                                     : fmt::format("`{}` does not hold{}", text, Sides(broken)));
    AddConstants(broken, error);
  }

  /// Together, requirements between dimensions leave some sizes.
  void Together() {
    std::vector<ExprId> earlier;
    for (ExprId condition : LaunchRequirements(module_)) {
      earlier.push_back(condition);
      if (MayHaveSizes(module_, {}, earlier)) {
        continue;
      }
      Diagnostic& error = diagnostics_.Error(
          DiagnosticKind::Requirement, module_.RangeOf(condition),
          fmt::format("no size fulfils `{}`{}", Print(module_, condition),
                      earlier.size() == 1 ? "" : " and the requirements before it"));
      AddConstants(condition, error);
      return;
    }
  }

 private:
  /// A launch evaluates it in integers.
  void OfLaunch(ExprId condition) {
    ExprId number;
    VisitExprs(module_, condition, [&](ExprId id) {
      ValueKind kind = KindOf(module_, id);
      bool real = kind == ValueKind::Float || kind == ValueKind::Double;
      number = !number && real ? id : number;
    });
    if (number) {
      diagnostics_.Error(DiagnosticKind::Requirement, module_.RangeOf(number),
                         fmt::format("a requirement between dimensions is one of integers, but "
                                     "`{}` is a float",
                                     Print(module_, number)));
    }
  }

  std::optional<int64_t> Bound(const Symbol& dim, ExprId id, std::string_view what) {
    size_t before = diagnostics_.error_count();
    std::string text = fmt::format("the {} of `{}`", what, dim.name);
    exprs_.CheckClosed(id, false, text, DiagnosticKind::Dimension);
    if (diagnostics_.error_count() == before) {
      exprs_.ExpectInt(id, text);
    }
    if (diagnostics_.error_count() != before) {
      return std::nullopt;
    }
    auto value = EvaluateInt(module_, id, {});
    if (!value && !UsesReported(id)) {
      diagnostics_.Error(DiagnosticKind::Dimension, module_.RangeOf(id),
                         fmt::format("{} has no value: {}", text, WhyNoValue(module_, id)));
    }
    return value;
  }

  /// Whether a constant in it has no value, which was reported where that one is declared.
  bool UsesReported(ExprId id) const {
    return bool{FindExpr(module_, id, [&](const Expr& expr) {
      const auto* ref = std::get_if<SymbolRef>(&expr);
      return ref != nullptr && module_.symbols[ref->symbol].kind == SymbolKind::Const &&
             !ValueText(module_, module_.symbols[ref->symbol].value);
    })};
  }

  /// Of parts that `&&` joins, the first that does not hold.
  ExprId BrokenPart(ExprId condition) const {
    const auto* both = std::get_if<Binary>(&module_.exprs[condition]);
    if (both == nullptr || both->op != BinaryOp::And) {
      return condition;
    }
    return BrokenPart(EvaluateBool(module_, both->left, {}) == true ? both->right : both->left);
  }

  /// ": the left side is 72 and the right side is 64" for a comparison.
  std::string Sides(ExprId condition) const {
    const auto* binary = std::get_if<Binary>(&module_.exprs[condition]);
    if (binary == nullptr || binary->op == BinaryOp::Or) {
      return "";
    }
    auto left = ValueText(module_, binary->left);
    auto right = ValueText(module_, binary->right);
    return left && right
               ? fmt::format(": the left side is {} and the right side is {}", *left, *right)
               : "";
  }

  void AddConstants(ExprId id, Diagnostic& error) const {
    std::vector<SymbolId> seen;
    VisitExprs(module_, id, [&](ExprId inner) {
      const auto* ref = std::get_if<SymbolRef>(&module_.exprs[inner]);
      if (ref == nullptr || std::find(seen.begin(), seen.end(), ref->symbol) != seen.end()) {
        return;
      }
      seen.push_back(ref->symbol);
      const Symbol& symbol = module_.symbols[ref->symbol];
      if (symbol.kind == SymbolKind::Dim) {
        if (auto range = RangeOfDim(module_, ref->symbol)) {
          error.notes.push_back({symbol.range, fmt::format("`{}` is in {} .. {}", symbol.name,
                                                           range->lo, range->hi)});
        }
        return;
      }
      auto value =
          symbol.kind == SymbolKind::Const ? ValueText(module_, symbol.value) : std::nullopt;
      if (value) {
        error.notes.push_back({symbol.range, fmt::format("`{}` is {}", symbol.name, *value)});
      }
    });
  }

  const Module& module_;
  Diagnostics& diagnostics_;
  ExprChecker exprs_;
};

}  // namespace

bool CheckConstants(const Module& module, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  ConstantChecks checks(module, diagnostics);
  for (const Item& item : module.items) {
    if (const auto* require = std::get_if<Require>(&item)) {
      checks.Requirement(*require);
    } else if (const auto* id = std::get_if<SymbolId>(&item)) {
      const Symbol& symbol = module.symbols[*id];
      if (symbol.kind == SymbolKind::Const) {
        checks.Constant(symbol);
      } else {
        checks.Dimension(symbol);
      }
    }
  }
  if (diagnostics.error_count() == before) {
    checks.Together();
  }
  return diagnostics.error_count() == before;
}

}  // namespace etc
