#include <fmt/format.h>

#include "ir/evaluate.h"
#include "verify/checks.h"
#include "verify/expr_checker.h"

namespace etc {

void CheckSpecialisation(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  if (!graph.specialisation) {
    return;
  }
  const Symbol& dim = module.symbols[graph.specialisation->dim];
  auto declared = RangeOfDim(module, graph.specialisation->dim);
  if (!declared) {
    return;  // reported at the dimension
  }
  auto multiple = dim.multiple ? EvaluateInt(module, dim.multiple, {}) : std::optional<int64_t>(1);
  if (!multiple || *multiple < 1) {
    return;
  }
  ExprChecker exprs(module, diagnostics);
  int64_t next = declared->lo;  // the least value that no range holds yet
  int64_t last_hi = 0;
  SourceRange last;
  for (const DimRange& range : graph.specialisation->ranges) {
    size_t before = diagnostics.error_count();
    for (ExprId bound : {range.lo, range.hi}) {
      if (exprs.CheckClosed(bound, false, "a bound of `specialise`", DiagnosticKind::Specialise)) {
        exprs.ExpectInt(bound, "a bound of `specialise`");
      }
    }
    auto lo = EvaluateInt(module, range.lo, {});
    auto hi = EvaluateInt(module, range.hi, {});
    if (diagnostics.error_count() != before || !lo || !hi) {
      return;
    }
    SourceRange at{module.RangeOf(range.lo).begin, module.RangeOf(range.hi).end};
    auto wrong = [&](std::string message) {
      diagnostics.Error(DiagnosticKind::Specialise, at, std::move(message))
          .notes.push_back({dim.range, fmt::format("`{}` is in {} .. {}", dim.name, declared->lo,
                                                   declared->hi)});
    };
    if (*lo > *hi) {
      return wrong(fmt::format("the range {} .. {} is empty", *lo, *hi));
    }
    if (*lo < next) {
      return wrong(
          *lo < declared->lo
              ? fmt::format("the range {} .. {} starts below the range of `{}`", *lo, *hi, dim.name)
              : fmt::format("the range {} .. {} does not come after the one before it, "
                            "which ends at {}",
                            *lo, *hi, last_hi));
    }
    if (*lo > next) {
      return wrong(*lo - 1 == next
                       ? fmt::format("no range holds `{}` = {}", dim.name, next)
                       : fmt::format("no range holds `{}` = {} .. {}", dim.name, next, *lo - 1));
    }
    if (*hi > declared->hi) {
      return wrong(
          fmt::format("the range {} .. {} ends above the range of `{}`", *lo, *hi, dim.name));
    }
    next = *hi - *hi % *multiple + *multiple;
    last_hi = *hi;
    last = at;
  }
  if (next <= declared->hi) {
    diagnostics
        .Error(DiagnosticKind::Specialise, last,
               next == declared->hi
                   ? fmt::format("no range holds `{}` = {}", dim.name, next)
                   : fmt::format("no range holds `{}` = {} .. {}", dim.name, next, declared->hi))
        .notes.push_back(
            {dim.range, fmt::format("`{}` is in {} .. {}", dim.name, declared->lo, declared->hi)});
  }
}

}  // namespace etc
