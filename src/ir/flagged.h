// Which operands may be flagged buffers.
#pragma once

#include <cstdint>

#include "ir/evaluate.h"

namespace etc {

/// The most rows of a buffer that flag-in-data takes, or places of experts: of more rows, the words
/// of a launch do not stay in L2 (docs/log/2026-11-22-consumers.md). On several ranks 64 places
/// were slower than an event, and of a dispatch's tasks an SM that need not wait draws too many
/// (docs/log/2026-11-30-activations-of-experts.md).
constexpr int64_t MostFlaggedRows(int64_t ranks, bool is_dispatched) {
  return is_dispatched ? 16 : ranks > 1 ? 24 : 64;
}

/// Whether an implementation can take the parameter as a flagged buffer in a kernel for these
/// sizes.
bool TakesFlagged(const Module& module, const Device& device, TensorId param,
                  const DimRanges& ranges);

}  // namespace etc
