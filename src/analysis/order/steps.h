// What puts one task directly behind another, before any chain is followed.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/events.h"

namespace etc {

/// For each two calls the pairs of tasks of which the first completes before the second starts: of
/// most pairs of calls there are none.
class CallSteps {
 public:
  explicit CallSteps(size_t calls) : from_(calls) {}

  struct Step {
    size_t to;
    Map pairs;
  };
  /// Those that lead from a call, by the call that they lead to.
  const std::vector<Step>& From(size_t from) const { return from_[from]; }
  /// Null where there are none.
  const Map& Between(size_t from, size_t to) const;
  /// The same to add to.
  Map& Between(size_t from, size_t to);

 private:
  std::vector<std::vector<Step>> from_;
};

/// From which call to which some steps lead.
using StepSet = std::set<std::pair<size_t, size_t>>;

/// Single steps between the tasks of a program. Events make them now; whatever else puts a task
/// behind another one, as a queue's push does, adds its own.
struct TaskSteps {
  CallSteps calls;
  /// Of each call, whether data decide which of its tasks exist. What waits for tasks that need not
  /// exist does not wait for what those come after.
  std::vector<bool> may_lack;
};

/// For each notify and wait of one event, by their references, the tasks of which the one makes
/// those of the other wait. Events come and go, and most of them stay.
using EventSteps = std::map<std::pair<const EventRef*, const EventRef*>, Map>;

/// A task that waits for an element comes after every task that notifies it, as the element counts
/// exactly its notifies: so it is for events that are `trusted`, where no data decide. `known`
/// keeps what was found.
TaskSteps StepsOf(size_t calls, const EventRelations& relations, const std::set<EventId>& trusted,
                  EventSteps& known);
/// All steps that there may be: of every event, whatever data decide.
TaskSteps PossibleSteps(size_t calls, const EventRelations& relations);

/// Adds the part to the sum, which is null at first. Whether it has grown.
bool AddTo(Map& sum, const Map& part);

}  // namespace etc
