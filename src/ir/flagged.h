// Which operands may be flagged buffers.
#pragma once

#include <cstdint>

#include "ir/evaluate.h"

namespace etc {

/// The most rows of a buffer that flag-in-data takes: of more, the words of a launch do not stay in
/// L2 (docs/log/2026-11-22-consumers.md).
inline constexpr int64_t kMostFlaggedRows = 16;

/// Whether an implementation can take the parameter as a flagged buffer in a kernel for these
/// sizes.
bool TakesFlagged(const Module& module, const Device& device, TensorId param,
                  const DimRanges& ranges);

}  // namespace etc
