// The order of all tasks at one choice of small sizes: a quick look at what can't hold for all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "analysis/order/happens_before.h"
#include "analysis/order/task_sample.h"

namespace etc {

/// The tasks of a program and what its events let them wait for, one by one. To follow every chain
/// of events among some hundred tasks takes microseconds, where the relations between all tasks at
/// all sizes may be too many to compose. What is found there says which chains to compose.
class SampledOrder {
 public:
  /// Both must outlive it.
  SampledOrder(const Module& module, const CallProgram& program);

  /// The waits and notifies of the program have changed: those that are gone are forgotten. Those
  /// `without` count as gone.
  void EventsChanged(const std::set<const EventRef*>& without = {});

  /// Whether chains of events lead from task 1 to task 2 of each of these pairs of tasks of `from`
  /// and `to`: those that lead so at some small sizes, composed for all. `order` is that of the
  /// same events. Nothing where no sizes are small enough, data decide, or there is no end.
  std::optional<bool> IsOrdered(const HappensBefore& order, size_t from, size_t to, Map pairs);

  struct Distance {
    bool known = false;
    std::optional<int64_t> least;  // nothing where all are in order
  };
  /// How many iterations of the repeat inside of the outermost `repeats` ones are between tasks 1
  /// and 2, at least, of some of the pairs that are in no order. Not known where none of the pairs
  /// that are looked at is open and there are more.
  Distance OpenDistance(size_t from, size_t to, const Map& pairs, size_t repeats);

 private:
  /// Two tasks, each with its number.
  struct Pair {
    TaskSample::Task first;
    TaskSample::Task second;
    size_t from;
    size_t to;
  };
  struct Visitor;

  TaskSample* Near(int64_t value);
  Map WithoutThoseOverAll(const HappensBefore& order, TaskSample& sample, size_t from, size_t to,
                          Map pairs);
  bool ForPairs(TaskSample& sample, size_t from, size_t to, const Map& pairs, int most,
                const std::function<bool(const Pair&)>& visit) const;

  const Module& module_;
  const CallProgram& program_;
  std::set<const EventRef*> without_;
  std::map<int64_t, std::unique_ptr<TaskSample>> samples_;
  std::map<StepSet, std::optional<HappensBefore>> by_steps_;  // the order by these alone
  int64_t too_large_ = INT64_MAX;  // the smallest value at which there are too many tasks
};

}  // namespace etc
