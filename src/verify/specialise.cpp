#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "verify/checks.h"
#include "verify/expr_checker.h"

namespace etc {
namespace {

/// More kernels than anybody waits for; each takes seconds to compile.
constexpr size_t kMostKernels = 256;

/// Of one dimension: ranges in order, which together hold every value and no other.
class SpecialisationCheck {
 public:
  SpecialisationCheck(const Module& module, const Specialisation& specialisation,
                      Diagnostics& diagnostics)
      : module_(module),
        specialisation_(specialisation),
        dim_(module.symbols[specialisation.dim]),
        diagnostics_(diagnostics),
        exprs_(module, diagnostics) {}

  void Run() {
    auto declared = RangeOfDim(module_, specialisation_.dim);
    auto multiple =
        dim_.multiple ? EvaluateInt(module_, dim_.multiple, {}) : std::optional<int64_t>(1);
    if (!declared || !multiple || *multiple < 1) {
      return;  // reported at the dimension
    }
    declared_ = *declared;
    int64_t next = declared_.lo;  // the least value that no range holds yet
    int64_t last_hi = 0;
    SourceRange last;
    for (const DimRange& range : specialisation_.ranges) {
      auto values = Values(range);
      if (!values) {
        return;
      }
      SourceRange at{module_.RangeOf(range.lo).begin, module_.RangeOf(range.hi).end};
      std::string text = fmt::format("the range {} .. {}", values->lo, values->hi);
      if (values->hi == values->lo - 1) {
        continue;  // constants leave nothing of it
      }
      if (values->lo > values->hi) {
        return Wrong(at, text + " is empty");
      }
      if (values->lo < declared_.lo) {
        return Wrong(at, fmt::format("{} starts below the range of `{}`", text, dim_.name));
      }
      if (values->lo < next && values->lo > last_hi) {
        return Wrong(at, fmt::format("{} does not start at {}, the next multiple of {}", text, next,
                                     *multiple));
      }
      if (values->lo < next) {
        return Wrong(at, fmt::format("{} does not come after the one before it, which ends at {}",
                                     text, last_hi));
      }
      if (values->lo > next) {
        return NotHeld(at, next, values->lo - 1);
      }
      if (values->hi > declared_.hi) {
        return Wrong(at, fmt::format("{} ends above the range of `{}`", text, dim_.name));
      }
      next = values->hi - values->hi % *multiple + *multiple;
      last_hi = values->hi;
      last = at;
    }
    if (next <= declared_.hi) {
      NotHeld(last, next, declared_.hi);
    }
  }

 private:
  std::optional<Interval> Values(const DimRange& range) {
    size_t before = diagnostics_.error_count();
    for (ExprId bound : {range.lo, range.hi}) {
      if (exprs_.CheckClosed(bound, false, "a bound of `specialise`", DiagnosticKind::Specialise)) {
        exprs_.ExpectInt(bound, "a bound of `specialise`");
      }
    }
    auto lo = EvaluateInt(module_, range.lo, {});
    auto hi = EvaluateInt(module_, range.hi, {});
    return diagnostics_.error_count() == before && lo && hi ? std::optional(Interval{*lo, *hi})
                                                            : std::nullopt;
  }

  void NotHeld(SourceRange at, int64_t first, int64_t last) {
    Wrong(at, first == last
                  ? fmt::format("no range holds `{}` = {}", dim_.name, first)
                  : fmt::format("no range holds `{}` = {} .. {}", dim_.name, first, last));
  }

  void Wrong(SourceRange at, std::string message) {
    diagnostics_.Error(DiagnosticKind::Specialise, at, std::move(message))
        .notes.push_back({dim_.range, fmt::format("`{}` is in {} .. {}", dim_.name, declared_.lo,
                                                  declared_.hi)});
  }

  const Module& module_;
  const Specialisation& specialisation_;
  const Symbol& dim_;
  Diagnostics& diagnostics_;
  ExprChecker exprs_;
  Interval declared_{};
};

}  // namespace

void CheckSpecialisation(const Module& module, const Graph& graph, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  size_t kernels = 1;
  std::vector<SymbolId> seen;
  for (const Specialisation& one : graph.specialisations) {
    const Symbol& dim = module.symbols[one.dim];
    if (dim.kind != SymbolKind::Dim) {
      diagnostics.Error(DiagnosticKind::Specialise, one.range,
                        fmt::format("`{}` is not a dimension, so it has no ranges", dim.name));
    } else if (std::find(seen.begin(), seen.end(), one.dim) != seen.end()) {
      diagnostics.Error(
          DiagnosticKind::Specialise, one.range,
          fmt::format("`{}` has ranges already; all of them stand in one list", dim.name));
    } else {
      SpecialisationCheck(module, one, diagnostics).Run();
    }
    seen.push_back(one.dim);
    kernels = std::min(kernels * one.ranges.size(), kMostKernels + 1);
  }
  if (diagnostics.error_count() == before && kernels > kMostKernels) {
    diagnostics.Error(DiagnosticKind::Specialise, graph.specialisations.front().range,
                      fmt::format("the ranges combine to more than {} kernels", kMostKernels));
  }
}

void CheckKernelNames(const Module& module, Diagnostics& diagnostics) {
  std::map<std::string, const Graph*> becomes;  // by the names of kernels
  std::vector<const Graph*> graphs;
  for (const Item& item : module.items) {
    const auto* id = std::get_if<GraphId>(&item);
    if (id == nullptr) {
      continue;
    }
    graphs.push_back(&module.graphs[*id]);
    for (const std::vector<Where>& where : WheresOf(module, *graphs.back())) {
      Graph kernel;
      kernel.name = graphs.back()->name;
      Narrow(module, kernel, where);
      if (!where.empty()) {
        becomes[kernel.name] = graphs.back();
      }
    }
  }
  for (const Graph* graph : graphs) {
    auto found = becomes.find(graph->name);
    if (found == becomes.end()) {
      continue;
    }
    const Graph& other = *found->second;
    diagnostics
        .Error(DiagnosticKind::DuplicateName, graph->range,
               fmt::format("`@{}` is also the name of a kernel that `@{}` becomes", graph->name,
                           other.name))
        .notes.push_back({other.range, fmt::format("`@{}` is specialised here", other.name)});
  }
}

void CheckWhere(const Module& module, const std::vector<Where>& ranges, Diagnostics& diagnostics) {
  ExprChecker exprs(module, diagnostics);
  std::vector<SymbolId> seen;
  for (const Where& where : ranges) {
    size_t before = diagnostics.error_count();
    for (ExprId bound : {where.lo, where.hi}) {
      if (exprs.CheckClosed(bound, false, "a bound of `where`", DiagnosticKind::Specialise)) {
        exprs.ExpectInt(bound, "a bound of `where`");
      }
    }
    const Symbol& dim = module.symbols[where.dim];
    auto lo = EvaluateInt(module, where.lo, {});
    auto hi = EvaluateInt(module, where.hi, {});
    if (diagnostics.error_count() != before || !lo || !hi) {
      continue;
    }
    SourceRange at{module.RangeOf(where.lo).begin, module.RangeOf(where.hi).end};
    auto declared = RangeOfDim(module, where.dim);
    if (dim.kind != SymbolKind::Dim) {
      diagnostics.Error(DiagnosticKind::Specialise, at,
                        fmt::format("`{}` is not a dimension, so it has no ranges", dim.name));
    } else if (std::find(seen.begin(), seen.end(), where.dim) != seen.end()) {
      diagnostics.Error(DiagnosticKind::Specialise, at,
                        fmt::format("`{}` has a range already", dim.name));
    } else if (*lo > *hi) {
      diagnostics.Error(DiagnosticKind::Specialise, at,
                        fmt::format("the range {} .. {} is empty", *lo, *hi));
    } else if (declared && (*lo < declared->lo || *hi > declared->hi)) {
      diagnostics
          .Error(
              DiagnosticKind::Specialise, at,
              fmt::format("the range {} .. {} is not inside of that of `{}`", *lo, *hi, dim.name))
          .notes.push_back({dim.range, fmt::format("`{}` is in {} .. {}", dim.name, declared->lo,
                                                   declared->hi)});
    }
    seen.push_back(where.dim);
  }
}

}  // namespace etc
