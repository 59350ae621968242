// The ranges that constants give the variables of a body. They suffice for most indices, and cost
// much less than isl.
#pragma once

#include <map>
#include <optional>

#include "ir/evaluate.h"
#include "ir/walk.h"

namespace etc {

class Intervals {
 public:
  /// Both must outlive it.
  Intervals(const Module& module, const DimRanges& ranges) : module_(module), ranges_(ranges) {}

  /// Nothing and an empty interval say nothing.
  void Set(SymbolId variable, std::optional<Interval> values) {
    if (values && values->lo <= values->hi) {
      values_[variable] = *values;
    }
  }

  void Set(SymbolId variable, const Axis& axis) {
    auto lo = axis.lo ? Of(axis.lo) : Interval{0, 0};
    auto hi = Of(axis.hi);
    if (lo && hi && lo->lo < hi->hi) {
      values_[variable] = {lo->lo, hi->hi - 1};
    }
  }

  /// The values of an expression; nothing where it depends on data.
  std::optional<Interval> Of(ExprId id) const {
    return ReadsTensor(module_, id) ? std::nullopt : Bounds(module_, id, values_, ranges_);
  }

  /// Whether an index is in bounds, whatever the variables in it are.
  bool IsInside(ExprId index, ExprId extent) const {
    auto value = Of(index);
    auto end = value ? Of(extent) : std::nullopt;
    return end && value->lo >= 0 && value->hi < end->lo;
  }

 private:
  const Module& module_;
  const DimRanges& ranges_;
  std::map<SymbolId, Interval> values_;
};

}  // namespace etc
