// Comparison of sizes that depend on dimensions.
#pragma once

#include <cstdint>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// Whether two integer expressions over dimensions are equal for all sizes in `ranges`: their
/// canonical polynomials are the same. A choice that the ranges decide counts as what it yields. A
/// dimension with a multiple counts as that multiple of something, so that `n / 16 * 16` equals `n`
/// where 16 divides `n`. `next`: a variable that is one more in `b` than it is in `a`.
bool SameSize(const Module& module, ExprId a, ExprId b, const DimRanges& ranges = {},
              SymbolId next = {});

/// Whether an integer expression over dimensions is a multiple of `divisor` for all sizes: each
/// coefficient of its canonical polynomial is.
bool IsMultiple(const Module& module, ExprId expr, int64_t divisor);

}  // namespace etc
