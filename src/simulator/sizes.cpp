#include "simulator/sizes.h"

#include <algorithm>
#include <limits>

#include "ir/requirements.h"

namespace etc {

Env LeastSizes(const Module& module, const Kernel& kernel, const Env& given) {
  // At size 0 nothing runs, which says little: from the first multiple on, where there is one.
  DimRanges ranges = RangesOf(module, kernel);
  for (int64_t least : {1, 0}) {
    DimRanges within;
    for (SymbolId dim : DimsOf(module)) {
      within[dim] = {least, std::numeric_limits<int64_t>::max()};
    }
    for (const auto& [dim, value] : given) {
      within[dim] = {value, value};
    }
    if (auto found = FindSizes(module, ranges, Prefer::Small, within)) {
      return *found;
    }
  }
  Env dims;
  for (SymbolId symbol : module.symbols.Ids()) {
    if (module.symbols[symbol].kind == SymbolKind::Dim) {
      if (auto lo = EvaluateInt(module, module.symbols[symbol].lo, {})) {
        dims[symbol] = *lo;
      }
    }
  }
  for (const Where& where : kernel.where) {
    if (auto lo = EvaluateInt(module, where.lo, {})) {
      dims[where.dim] = *lo;
    }
  }
  for (const auto& [dim, value] : given) {
    dims[dim] = value;
  }
  return dims;
}

Env TypicalSizes(const Module& module, const Kernel& kernel, bool largest) {
  constexpr int64_t kTypicalSize = 16;
  Env sizes;
  DimRanges ranges = RangesOf(module, kernel);
  for (SymbolId dim : DimsOf(module)) {
    if (auto range = RangeOfDim(module, dim, ranges)) {
      int64_t typical = std::min(range->hi, std::max(range->lo, kTypicalSize));
      sizes[dim] = !ranges.contains(dim) ? typical : largest ? range->hi : range->lo;
    }
  }
  return RequirementsHold(module, sizes, ranges) ? sizes : LeastSizes(module, kernel);
}

}  // namespace etc
