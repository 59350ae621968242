// Cases that push each other: which triggers a queue has, and what arrives at them.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// Makes one queue of the calls that follow each other, case by case.
class QueueBuilder {
 public:
  /// What the queue is made in.
  struct Around {
    std::vector<Axis> iterations;             // of the repeats
    std::function<EventId(Event)> declare;    // adds a trigger to the kernel
    std::function<size_t(EventId)> notifies;  // how many clauses of the graph notify an event
    std::function<std::set<EventId>(TensorId)> announces;  // notified by what writes the tensor
  };

  QueueBuilder(Module& module, DimRanges ranges, Around around)
      : module_(module), ranges_(std::move(ranges)), around_(std::move(around)) {}

  /// Whether the queue can take the case as its next one. If not, a later queue can: to be there
  /// from the start, a case must not wait for one that is pushed; to be pushed, the sizes must
  /// bound the number of its tasks, and what they wait for must have some at all sizes. In neither
  /// case may it wait for what peers push.
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

  /// A case in front, and where its tasks arrive for the new one when data say so.
  struct Update {
    NodeId node;
    EventRef arrival;             // of no event yet
    std::vector<EventRef> waits;  // for what says where they arrive, and how many do
  };
  /// What a trigger counts that has an element for each value that data choose among.
  struct Updates {
    Event trigger;
    EventRef on;
    std::vector<Update> updates;
  };
  /// A notify and a wait of one event, by whose elements data connect a case with the new one.
  struct ChosenEdge {
    NodeId node;
    const EventRef* notify;
    const EventRef* wait;
  };

  /// Absent where the trigger is to count all tasks of the cases in front.
  std::optional<Updates> UpdatesOf(const Share& share) const;
  std::optional<ChosenEdge> ChosenEdgeTo(const Share& share) const;
  std::optional<std::vector<size_t>> PlacesIn(const ChosenEdge& edge, const Share& share) const;
  std::optional<Update> UpdateBy(NodeId node, const Share& share, const ChosenEdge& chosen,
                                 const Updates& updates, ExprId& count) const;
  bool AddWaits(const Share& share, const EventRef& arrival, ExprId count, Update& update) const;
  std::vector<Producer> ProducersOf(const Share& share) const;
  std::vector<size_t> CommonAxes(const Share& producer, const Share& share) const;
  bool IsPushed(NodeId node) const;
  /// Whether the case waits for what a pushed one in front notifies at peers: nothing says that the
  /// peers' tasks are given out before.
  bool AwaitsPushedPeers(const Share& share) const;
  std::string DueName(const Share& share) const;
  /// The axes whose coordinates are known of what arrives for the case: of a task all; of a push,
  /// where it stands for as many tasks as data say, those of its trigger.
  std::vector<Axis> ArrivingAxes(const Share& producer) const;
  /// How many arrivals of the producers complete an element of a trigger; absent where there may be
  /// none, or there are no producers.
  std::optional<ExprId> ArrivalsOf(const std::vector<Producer>& producers) const;

  Module& module_;
  DimRanges ranges_;
  Around around_;
  std::vector<NodeId> cases_;
  ExprId capacity_;  // absent while nothing is pushed
};

}  // namespace etc
