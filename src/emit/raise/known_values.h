// What is known of integers in a kernel.
#pragma once

#include <limits>

#include "emit/raise/raised.h"
#include "ir/evaluate.h"

namespace etc {

/// Bounds of expressions at the sizes of a kernel, inside of its repeats.
class KnownValues {
 public:
  explicit KnownValues(const RaisedKernel& raised);

  const DimRanges& Sizes() const { return sizes_; }
  std::optional<Interval> Of(ExprId expr) const {
    return Bounds(module_, expr, intervals_, sizes_);
  }
  /// Whether the value is in lo .. 2^31.
  bool FitsU32(ExprId expr, int64_t lo) const {
    auto bounds = Of(expr);
    return bounds && bounds->lo >= lo && bounds->hi <= std::numeric_limits<int32_t>::max();
  }

 private:
  const Module& module_;
  DimRanges sizes_;
  std::map<SymbolId, Interval> intervals_;  // of the variables of repeats
};

}  // namespace etc
