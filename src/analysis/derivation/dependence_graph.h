// The dependences between the tasks of a program, and which of them its events put in order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "analysis/derivation/conflict_sets.h"
#include "analysis/derivation/data_needs.h"
#include "analysis/derivation/needs.h"

namespace etc {

struct ReadBodies;

/// All that may connect two tasks of which the first comes first in program order; the innermost
/// repeats before those around them.
std::vector<Dependence> DependencesBetween(const ProgramCall& from, const ProgramCall& to);

/// Of the iterations that a dependence connects, those of interest.
struct Iterations {
  int64_t latest_from = 0;  // so many last ones of each repeat around `from` alone; 0 for all
  int64_t first_to = 0;     // so many first ones of each repeat around `to` alone; 0 for all
  int64_t distance = 0;     // Carried: exactly so many later; 0 for any

  auto operator<=>(const Iterations&) const = default;
};

class DependenceGraph {
 public:
  /// Both must outlive the graph. `for_proofs`: keeps what is found of bodies.
  DependenceGraph(const Module& module, const CallProgram& program, bool for_proofs = false);
  ~DependenceGraph();

  /// Finds what exists.
  void FindAll();
  /// Finds what the order asks of whole calls, whatever the events are.
  void LookAtCalls();
  /// Finds the answers to what will be asked of a dependence that is not in order, whatever the
  /// events are. `coarse`: as NeedsOf takes it.
  void FindAhead(const Dependence& dependence, bool coarse);
  /// What exists in one iteration and follows from no others by a chain of calls, the nearest ones
  /// first.
  std::vector<Dependence> Unchained();

  /// The waits and notifies of the program have changed. All of its events count right.
  void EventsChanged();
  /// As if the program did not have these waits.
  void Leave(const std::set<const EventRef*>& waits);

  /// Whether some task of `from` conflicts with one of `to`: one writes what the other touches.
  bool Exists(const Dependence& dependence);
  /// Whether the events put all of it in order, if they do so of those between calls that stand
  /// between.
  bool IsOrdered(const Dependence& dependence);
  /// The smallest distance of a carried dependence in iterations.
  std::optional<int64_t> Distance(const Dependence& dependence);
  /// The smallest one of what the events do not put in order, of the dependence that was last asked
  /// for an order; nothing where that is none of it.
  std::optional<int64_t> OpenDistance(const Dependence& dependence);
  /// What tasks need for what does not follow from others, in boxes (`in_parts`) or as one. Nothing
  /// where the dependence does not connect these iterations. `coarse`: no event will tell the tasks
  /// of `from` apart, so that it need not be said which.
  std::vector<Needs> NeedsOf(const Dependence& dependence, const Iterations& iterations,
                             bool in_parts, bool coarse);

  /// The same as one box where data decide which tasks it connects. Nothing where it is of no use.
  std::optional<DataNeeds> NeedsInData(const Dependence& dependence, const Iterations& iterations);

  /// What the proofs may take over; it needs the module and the program.
  std::shared_ptr<ReadBodies> bodies() const;

  using Cause = Conflict::Cause;
  Cause CauseOf(const Dependence& dependence);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etc
