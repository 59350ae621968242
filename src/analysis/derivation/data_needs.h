// What tasks need of each other where data decide which of them conflict: a row that the reader
// finds through an index tensor, or that the writer has put where a permutation says.
#pragma once

#include <optional>
#include <vector>

#include "analysis/derivation/needs.h"

namespace etc {

struct DataNeeds {
  /// For each coordinate of `from`: what permutes its values, if the needs are about those of that.
  std::vector<std::optional<TaskExpr>> keys;
  Needs needs;

  bool operator==(const DataNeeds&) const = default;
};

/// `conflicts`: over both tasks, with the data that they depend on. Nothing where that tells no
/// tasks of `from` apart, or it is not read from inputs by what each task of `to` has at hand.
std::optional<DataNeeds> NeedsInData(Unknowns& unknowns, const NeedsScope& scope,
                                     const Set& conflicts);

}  // namespace etc
