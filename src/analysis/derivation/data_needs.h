// What tasks need of each other where data decide which of them conflict: a row that the reader
// finds through an index tensor, or that the writer has put where a permutation says. Quotients by
// sizes may decide it as well: of a row of tasks that have one coordinate for row and column.
#pragma once

#include <optional>
#include <vector>

#include "analysis/derivation/needs.h"

namespace etc {

/// What the needs are about in the place of a coordinate.
struct TaskKey {
  TaskExpr value;
  /// Of a row: how many there are, and how many tasks have each. Else it permutes the coordinate.
  std::optional<TaskExpr> extent;
  std::optional<TaskExpr> tasks;

  bool operator==(const TaskKey&) const = default;
};

struct DataNeeds {
  std::vector<std::optional<TaskKey>> keys;  // for each coordinate of `from`
  Needs needs;

  bool operator==(const DataNeeds&) const = default;
};

/// `conflicts`: over both tasks, with the data that they depend on. Nothing where that tells no
/// tasks of `from` apart, or each task of `to` cannot read it from inputs and from buffers that are
/// written once; of these the writer must come first.
std::optional<DataNeeds> NeedsInData(Unknowns& unknowns, const NeedsScope& scope,
                                     const Set& conflicts);

}  // namespace etc
