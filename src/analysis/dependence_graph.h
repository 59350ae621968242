// The dependences between the tasks of a program, and which of them its events put in order.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "analysis/program.h"
#include "analysis/task_expr.h"

namespace etc {

/// The tasks of one call that must complete before those of another, in one iteration of each of
/// the outermost `repeats` repeats, which are around both.
struct Dependence {
  size_t from;  // the call that comes first in program order or in time
  size_t to;
  size_t repeats;
  /// Carried: from an iteration to a later one of the repeat inside of these, which is around both;
  /// else no further repeat is.
  bool carried = false;

  /// The repeats that it says something of; those inside of them run through all iterations.
  size_t Related() const { return repeats + (carried ? 1 : 0); }

  auto operator<=>(const Dependence&) const = default;
};

/// All that may connect two tasks of which the first comes first in program order; the innermost
/// repeats before those around them.
std::vector<Dependence> DependencesBetween(const ProgramCall& from, const ProgramCall& to);

/// Of the iterations that a dependence connects, those of interest.
struct Iterations {
  int64_t latest_from = 0;  // so many last ones of each repeat around `from` alone; 0 for all
  int64_t first_to = 0;     // so many first ones of each repeat around `to` alone; 0 for all
  int64_t distance = 0;     // Carried: exactly so many later; 0 for any
};

/// What a task of `to` needs of one coordinate of the tasks of `from`.
struct Need {
  bool whole = true;  // all values, or it is not known which
  TaskExpr lo;        // else from `lo` to `last`
  TaskExpr last;
  std::optional<int64_t> length;  // the most values that a task needs
  /// All that a task needs lies in one of the chunks of `length` values, and which.
  std::optional<TaskExpr> chunk;

  bool operator==(const Need&) const = default;
};

struct Needs {
  std::vector<Need> iterations;  // of each repeat around `from`
  std::vector<Need> coordinates;
  std::optional<TaskExpr> guard;  // tasks of `to` that need anything; absent when all do
};

class DependenceGraph {
 public:
  /// Both must outlive the graph.
  DependenceGraph(const Module& module, const CallProgram& program);
  ~DependenceGraph();

  /// The waits and notifies of the program have changed. All of its events count right.
  void EventsChanged();
  /// As if the program did not have these waits.
  void Leave(const std::set<const EventRef*>& waits);

  /// Whether some task of `from` conflicts with one of `to`: one writes what the other touches.
  bool Exists(const Dependence& dependence);
  /// Whether the events put all of it in order.
  bool IsOrdered(const Dependence& dependence);
  /// The smallest distance of a carried dependence in iterations.
  std::optional<int64_t> Distance(const Dependence& dependence);
  /// The smallest one of what the events do not put in order; nothing where that is none of it.
  std::optional<int64_t> OpenDistance(const Dependence& dependence);
  /// Nothing where the dependence does not connect these iterations.
  std::optional<Needs> NeedsOf(const Dependence& dependence, const Iterations& iterations);

  /// A tensor that makes the dependence, and what `from` and `to` do with it.
  struct Cause {
    TensorId tensor;
    bool from_writes;
    bool to_writes;
  };
  Cause CauseOf(const Dependence& dependence);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etc
