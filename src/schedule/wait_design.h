// Planned waits, and the events that they are for, from what tasks need of each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/event_plan.h"
#include "schedule/range_dependences.h"

namespace etc {

class WaitDesign {
 public:
  /// All must outlive it. `programs`: the graph in each of its ranges. `coarse`: the calls of which
  /// no event tells the tasks apart. Such an event costs a signal for each task, and an event for
  /// all of them a signal for each SM, of which there are half as many for two waves of tasks.
  WaitDesign(const Module& module, const std::vector<CallProgram>& programs, EventPlan& plan,
             RangeDependences& dependences, const std::vector<bool>& coarse)
      : module_(module),
        programs_(programs),
        program_(programs.front()),
        plan_(plan),
        dependences_(dependences),
        coarse_(coarse) {}

  /// All tasks of the first call, or of a program of all ranks those of the reader's own rank.
  Needs OfAll(const Dependence& dependence, bool on_own_rank) const;
  /// Has the needs be those of tasks of the reader's own rank.
  static void StayOnRank(Needs& needs);

  /// Adds a wait for what the second call of a dependence needs of the first one in some
  /// iterations, and an event where the plan has none that fits. `split`: the event tells tasks
  /// apart where that is of use. `keys`: by what, where it is not by a coordinate.
  void Add(const Dependence& dependence, const Iterations& iterations, const Needs& needs,
           bool split, std::vector<std::optional<TaskKey>> keys = {});

  /// The reason for a wait, as the notes of the pass say it.
  std::string Why(const Dependence& dependence);

 private:
  std::optional<size_t> RankIn(const Dependence& dependence, const Needs& needs,
                               const std::vector<std::optional<TaskKey>>& keys) const;
  bool IsAmong(const Dependence& dependence, size_t coordinate, int64_t grain, const Need& need);
  int64_t Grain(size_t call, const Need& need) const;

  const Module& module_;
  const std::vector<CallProgram>& programs_;
  const CallProgram& program_;  // the first: they differ in the sizes alone
  EventPlan& plan_;
  RangeDependences& dependences_;
  const std::vector<bool>& coarse_;
};

}  // namespace etc
