// The design of events for a graph that has none.
#pragma once

#include <memory>
#include <vector>

#include "schedule/event_plan.h"
#include "schedule/lower.h"
#include "schedule/peer_writes.h"

namespace etc {

class Derivation;

/// Events that put in order all that conflicts between the calls of a graph.
class DerivedEvents {
 public:
  /// `programs`: the graph in each of its ranges. `behind_waits`: what the loader of each call
  /// reads behind waits. `at_peers`: where events for each rank are designed, of the program of all
  /// ranks, what each call writes at peers.
  DerivedEvents(Module& module, std::vector<CallProgram> programs, const ScheduleOptions& options,
                TensorsOfCalls behind_waits, TensorsOfCalls at_peers = {});
  ~DerivedEvents();

  EventPlan& plan() { return plan_; }
  /// What was read of bodies for the proofs, with the programs. No events may be asked for after.
  void HandOn(DerivedBodies& bodies);
  /// How many dependences there are, and how many needed no event.
  void Remark(const Graph& graph, Diagnostics& diagnostics) const;

 private:
  std::unique_ptr<Derivation> derivation_;
  EventPlan& plan_;
};

}  // namespace etc
