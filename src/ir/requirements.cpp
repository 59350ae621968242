#include "ir/requirements.h"

#include <algorithm>

#include "ir/checked.h"
#include "ir/walk.h"

namespace etc {
namespace {

bool Hold(const Module& module, const std::vector<ExprId>& conditions, const Env& dims,
          const DimRanges& ranges) {
  return std::all_of(conditions.begin(), conditions.end(), [&](ExprId condition) {
    return EvaluateBool(module, condition, dims, ranges).value_or(false);
  });
}

/// Looks for sizes by halving ranges. A box of ranges in which interval arithmetic shows that some
/// requirement fails is left out, so the search is complete unless it runs out of boxes.
class SizeSearch {
 public:
  SizeSearch(const Module& module, const DimRanges& ranges, const std::vector<ExprId>& conditions,
             Prefer prefer)
      : module_(module),
        conditions_(conditions),
        ranges_(ranges),
        small_(prefer == Prefer::Small) {}

  std::optional<Env> Run(const DimRanges& within = {}) {
    for (SymbolId dim : DimsOf(module_)) {
      auto range = RangeOfDim(module_, dim, ranges_);
      if (auto limits = within.find(dim); range && limits != within.end()) {
        range = {std::max(range->lo, limits->second.lo), std::min(range->hi, limits->second.hi)};
      }
      ExprId multiple = module_.symbols[dim].multiple;
      auto step = multiple ? EvaluateInt(module_, multiple, {}) : std::optional<int64_t>(1);
      auto lo = range && step ? CheckedAlign(range->lo, *step) : std::nullopt;
      if (!lo || *step < 1) {
        complete_ = false;  // what is wrong with the dimension is said where it is declared
        return std::nullopt;
      }
      Interval inside{*lo, *lo + (range->hi - *lo) / *step * *step};
      if (range->hi < *lo) {
        return std::nullopt;
      }
      dims_.push_back({dim, *step});
      box_[dim] = inside;
    }
    return Visit() ? std::optional(found_) : std::nullopt;
  }

  /// Whether all sizes were looked at, when none was found.
  bool complete() const { return complete_; }

 private:
  struct Dim {
    SymbolId symbol;
    int64_t step;
  };

  bool Visit() {
    if (boxes_left_ == 0) {
      complete_ = false;
      return false;
    }
    --boxes_left_;
    for (ExprId condition : conditions_) {
      if (Decide(module_, condition, box_, ranges_) == false) {
        return false;
      }
    }
    for (const Dim& dim : dims_) {
      found_[dim.symbol] = small_ ? box_[dim.symbol].lo : box_[dim.symbol].hi;
    }
    if (Hold(module_, conditions_, found_, ranges_)) {
      return true;
    }
    auto widest = std::max_element(dims_.begin(), dims_.end(),
                                   [&](const Dim& a, const Dim& b) { return Steps(a) < Steps(b); });
    if (widest == dims_.end() || Steps(*widest) == 0) {
      return false;
    }
    const Dim split = *widest;
    const Interval whole = box_[split.symbol];
    int64_t middle = whole.lo + Steps(split) / 2 * split.step;
    Interval halves[] = {{whole.lo, middle}, {middle + split.step, whole.hi}};
    for (const Interval& half : {halves[small_ ? 0 : 1], halves[small_ ? 1 : 0]}) {
      box_[split.symbol] = half;
      if (Visit()) {
        return true;
      }
    }
    box_[split.symbol] = whole;
    return false;
  }

  int64_t Steps(const Dim& dim) const {
    const Interval& range = box_.at(dim.symbol);
    return (range.hi - range.lo) / dim.step;
  }

  const Module& module_;
  const std::vector<ExprId>& conditions_;
  const DimRanges& ranges_;
  std::vector<Dim> dims_;
  std::map<SymbolId, Interval> box_;  // the values that are left
  Env found_;
  bool small_;
  bool complete_ = true;
  int boxes_left_ = 1 << 14;
};

/// Whether `lower` or `upper` occurs, in a constant that is used, too.
bool ReadsRange(const Module& module, ExprId expr, std::vector<SymbolId>& seen) {
  return bool{FindExpr(module, expr, [&](const Expr& inner) {
    if (const auto* call = std::get_if<Call>(&inner)) {
      return KindOf(call->op) == IntrinsicKind::Limit;
    }
    const auto* ref = std::get_if<SymbolRef>(&inner);
    if (ref == nullptr || module.symbols[ref->symbol].kind != SymbolKind::Const ||
        std::find(seen.begin(), seen.end(), ref->symbol) != seen.end()) {
      return false;
    }
    seen.push_back(ref->symbol);
    return ReadsRange(module, module.symbols[ref->symbol].value, seen);
  })};
}

}  // namespace

std::vector<SymbolId> DimsOf(const Module& module) {
  std::vector<SymbolId> dims;
  for (const Item& item : module.items) {
    const auto* symbol = std::get_if<SymbolId>(&item);
    if (symbol != nullptr && module.symbols[*symbol].kind == SymbolKind::Dim) {
      dims.push_back(*symbol);
    }
  }
  return dims;
}

std::vector<SymbolId> DimsIn(const Module& module, ExprId expr) {
  std::vector<SymbolId> dims;
  ExprId inside_bound;  // the argument of `lower` or `upper`
  VisitExprs(module, expr, [&](ExprId id) {
    if (const auto* call = std::get_if<Call>(&module.exprs[id])) {
      bool of_range = KindOf(call->op) == IntrinsicKind::Limit;
      inside_bound = of_range && !call->args.empty() ? call->args[0] : inside_bound;
    }
    const auto* ref = std::get_if<SymbolRef>(&module.exprs[id]);
    if (ref != nullptr && id != inside_bound &&
        module.symbols[ref->symbol].kind == SymbolKind::Dim &&
        std::find(dims.begin(), dims.end(), ref->symbol) == dims.end()) {
      dims.push_back(ref->symbol);
    }
  });
  return dims;
}

std::vector<ExprId> LaunchRequirements(const Module& module) {
  std::vector<ExprId> conditions;
  for (const Item& item : module.items) {
    const auto* require = std::get_if<Require>(&item);
    if (require == nullptr || DimsIn(module, require->condition).empty()) {
      continue;
    }
    // What holds at all sizes asks nothing of a launch; a range of them may make another condition.
    if (DependsOnRange(module, require->condition) ||
        Decide(module, require->condition, {}, {}) != true) {
      conditions.push_back(require->condition);
    }
  }
  return conditions;
}

bool DependsOnRange(const Module& module, ExprId expr) {
  std::vector<SymbolId> seen;
  return ReadsRange(module, expr, seen);
}

bool RequirementsHold(const Module& module, const Env& dims, const DimRanges& ranges) {
  return Hold(module, LaunchRequirements(module), dims, ranges);
}

std::optional<Env> FindSizes(const Module& module, const DimRanges& ranges, Prefer prefer,
                             const DimRanges& within) {
  std::vector<ExprId> conditions = LaunchRequirements(module);
  return SizeSearch(module, ranges, conditions, prefer).Run(within);
}

bool MayHaveSizes(const Module& module, const DimRanges& ranges) {
  return MayHaveSizes(module, ranges, LaunchRequirements(module));
}

bool MayHaveSizes(const Module& module, const DimRanges& ranges,
                  const std::vector<ExprId>& conditions) {
  SizeSearch search(module, ranges, conditions, Prefer::Small);
  return search.Run() || !search.complete();
}

}  // namespace etc
