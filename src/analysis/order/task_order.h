// Which tasks complete before which others start, at all sizes: the exact layer of the order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "analysis/events.h"

namespace etc {

/// The order of the tasks of a program by its schedule and by chains of events. Relations between
/// tasks are sets of pairs; what they are made of is composed when somebody asks for it.
class TaskOrder {
 public:
  /// The order by events that are `trusted`, whose counts are proved. The unknowns and the
  /// relations must outlive it.
  TaskOrder(Unknowns& unknowns, const EventRelations& relations, std::set<EventId> trusted);
  /// The order by all events of the program, as if each counted its notifies.
  explicit TaskOrder(Unknowns& unknowns);
  TaskOrder(const TaskOrder&) = delete;
  TaskOrder& operator=(const TaskOrder&) = delete;
  ~TaskOrder();

  /// Finds what is asked of all tasks of each call, whatever the events are.
  void LookAtCalls();
  /// The waits and notifies of the program have changed. Only the order by all events may be told.
  void EventsChanged();
  /// The same as if the program did not have these waits and notifies.
  void Leave(const std::set<const EventRef*>& without);

  // The schedule.

  bool FollowsProgramOrder() const;

  // All tasks of two calls. Each answer is quick, and `true` is certain.

  /// Whether each task of `y` comes after each of `x` that stands before it in program order: in
  /// the same iteration of a repeat around both, where the call does, and in an earlier one.
  bool OrdersAll(const ProgramCall& x, const ProgramCall& y);
  /// Whether that holds of tasks in one iteration of the repeats around both.
  bool OrdersIteration(const ProgramCall& x, const ProgramCall& y);
  /// Whether that holds of tasks in different iterations.
  bool OrdersIterations(const ProgramCall& x, const ProgramCall& y);

  // Pairs of a task of the call `from` and a task of the call `to`.

  /// Whether single events order all of the pairs.
  bool OrdersDirectly(size_t from, size_t to, const Map& pairs);
  /// Whether chains of events order all of the pairs.
  bool Orders(size_t from, size_t to, const Map& pairs);
  /// The pairs that no chain of events orders; null where that is not known.
  Map Unordered(size_t from, size_t to, const Map& pairs);
  /// The same as Orders through those of the waits of `to` for which `counts` says so.
  bool OrdersThrough(size_t from, const ProgramCall& to, const Map& pairs,
                     const std::function<bool(size_t wait)>& counts);
  /// Whether events order all of the pairs, a set over tasks 1 and 2, element by element, where
  /// data say which elements the tasks notify and wait for.
  bool OrdersInElements(const ProgramCall& from, const ProgramCall& to, const Set& pairs);
  /// How many iterations of the repeat inside of the outermost `repeats` ones are between tasks 1
  /// and 2, at least, of those of the pairs that are in no order. Nothing where all are.
  std::optional<int64_t> LeastOpenDistance(size_t from, size_t to, const Map& pairs,
                                           size_t repeats);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etc
