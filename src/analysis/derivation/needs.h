// What the tasks of one call need of those of another, in closed form: boxes of coordinates.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/derivation/task_expr.h"
#include "analysis/regions.h"

namespace etc {

/// The most elements of one axis of an event that a task waits for one by one.
constexpr int64_t kMostWaits = 4;

/// What a task of `to` needs of one coordinate of the tasks of `from`.
struct Need {
  bool whole = true;  // all values, or it is not known which
  TaskExpr lo;        // else from `lo` to `last`
  TaskExpr last;
  std::optional<int64_t> length;  // the most values that a task needs
  /// The values come in chunks of `length`; this is the one chunk that holds all a task needs.
  std::optional<TaskExpr> chunk;

  bool operator==(const Need&) const = default;
};

struct Needs {
  std::vector<Need> iterations;  // of each repeat around `from`
  std::vector<Need> coordinates;
  std::optional<TaskExpr> guard;  // tasks of `to` that need anything; absent when all do

  /// All tasks of the call.
  static Needs OfAll(const ProgramCall& from) {
    Needs needs;
    needs.iterations.resize(from.repeats.size());
    needs.coordinates.resize(from.axes.size());
    return needs;
  }

  bool operator==(const Needs&) const = default;
};

/// The two calls, and where their tasks lie: sets over tasks 1 and 2.
struct NeedsScope {
  const Unknowns& unknowns;
  const ProgramCall& from;
  const ProgramCall& to;
  const Set& producers;
  const Set& consumers;
  /// The repeat around both of which tasks of `to` need iterations before their own alone.
  std::optional<size_t> carried = std::nullopt;
};

/// The needs of the pairs of tasks in a set. Where one box would hold much more than the pairs,
/// several smaller ones, which together have all of them: so a task of `C * transpose(C)` needs one
/// block of rows for its row and one for its column.
std::vector<Needs> NeedsOf(const NeedsScope& scope, const Set& pairs);
/// The needs as one box.
Needs NeedsInOne(const NeedsScope& scope, const Set& pairs);

}  // namespace etc
