// What the simulator says of a graph under each schedule.
#pragma once

#include <vector>

#include "expand/decisions.h"
#include "ir/module.h"
#include "schedule/passes.h"
#include "simulator/kernel_cost.h"

namespace etc {

/// What `auto` makes of the graph: launches where they are quicker by more than the simulator may
/// be wrong, else one static kernel. Both are played at the least and the largest sizes of the
/// graph's range, at some 1000 of what no range says, and with each expert chosen as often. The
/// graph is specialised and has its events. A program with a mesh cannot have launches.
ScheduleKind ScheduleByCost(const Module& module, GraphId graph, const ScheduleOptions& options);

/// Estimates of the schedules that are left open, with all else as it is decided.
class ScheduleCosts {
 public:
  /// `open` is the module in front of expansion, with its constants set.
  ScheduleCosts(const Module& open, const Target& target, const Advise& decided);

  /// Microseconds at the largest sizes of the decision's range, and the largest number of ranks,
  /// for each of its options; infinite where the program does not lower so. That of `auto` is the
  /// one of what it becomes.
  [[nodiscard]] std::vector<double> Of(const Decision& decision) const;

  /// What becomes of an answer: of `auto` the schedule that the simulator takes.
  [[nodiscard]] Answer Resolved(const Decision& decision) const;

 private:
  /// The specialised graph of the range, or an absent id.
  [[nodiscard]] GraphId Find(const Decision& decision) const;

  Module module_;
  ScheduleOptions options_;
  bool right_ = false;
};

}  // namespace etc
