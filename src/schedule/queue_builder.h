// Cases that push each other: which triggers a queue has, and what arrives at them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// Makes one queue of the calls that follow each other, case by case.
class QueueBuilder {
 public:
  /// `iterations`: of the repeats around the queue. `declare` adds a trigger to the kernel.
  QueueBuilder(Module& module, DimRanges ranges, std::vector<Axis> iterations,
               std::function<EventId(Event)> declare)
      : module_(module),
        ranges_(std::move(ranges)),
        iterations_(std::move(iterations)),
        declare_(std::move(declare)) {}

  /// Whether the queue can take the case as its next one. If not, a later queue can: to be there
  /// from the start, a case must not wait for one that is pushed; to be pushed, the sizes must
  /// bound the number of its tasks, and what they wait for must have some at all sizes.
  bool Takes(const Share& share) const;
  /// Adds a case that it takes, and to those in front what pushes the tasks of this one.
  void Add(Share share, SourceRange range);

  bool IsEmpty() const { return cases_.empty(); }
  /// The cases as one node, and none are left: a drain where nothing is pushed.
  Dispatch Take(int64_t ahead);

 private:
  /// A case in front that notifies what the new one waits for, and for each of the first axes of
  /// the new one the axis of its own whose value the events carry over.
  struct Producer {
    NodeId node;
    std::vector<size_t> axes;
  };

  std::vector<Producer> ProducersOf(const Share& share) const;
  std::vector<size_t> CommonAxes(const Share& producer, const Share& share) const;
  bool IsPushed(NodeId node) const;
  /// The axes whose coordinates are known of what arrives for the case: of a task all; of a push,
  /// where it stands for as many tasks as data say, those of its trigger.
  std::vector<Axis> ArrivingAxes(const Share& producer) const;
  /// How many arrivals of the producers complete an element of a trigger; absent where there may be
  /// none, or there are no producers.
  std::optional<ExprId> ArrivalsOf(const std::vector<Producer>& producers) const;

  Module& module_;
  DimRanges ranges_;
  std::vector<Axis> iterations_;
  std::function<EventId(Event)> declare_;
  std::vector<NodeId> cases_;
  ExprId capacity_;  // absent while nothing is pushed
};

}  // namespace etc
