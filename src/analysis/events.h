// Which tasks notify and wait for which elements of events, and the order that follows.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/regions.h"

namespace etc {

/// `in` to `out`: these parameters become the dimensions of a relation; what else depends on data
/// is projected out.
Map ToMap(const Unknowns& unknowns, const Set& set, const std::vector<std::string>& in,
          const std::vector<std::string>& out);

/// Of a relation between tasks, the pairs that are in one iteration of each of the outermost
/// `repeats` repeats, which are around both.
Map InOneIteration(Map pairs, size_t repeats);
/// Those of which the second task is in a later iteration of the repeat inside of these.
Map InLaterIteration(Map pairs, size_t repeats);
/// Those of which it is in the next one, or exactly `distance` iterations later.
Map InNextIteration(Map pairs, size_t repeats, int64_t distance = 1);
/// How many iterations later, at least, the second task is in the repeat inside of the outermost
/// `repeats` ones. Nothing where there are no pairs.
std::optional<int64_t> LeastDistance(const Map& pairs, size_t repeats);
/// From where `first` begins to where `second` leads from its ends.
Map After(const Map& first, const Map& second);

/// One wait or notify of a call: a set over its task, the variables of its `for`, and the element.
struct EdgeRelation {
  size_t call;
  const TaskEdge* edge;
  const EventRef* ref;                 // of the edge
  std::vector<std::string> variables;  // of the `for`
  Set set;
  Map elements;         // from the task to the elements
  bool exact = true;    // no data decides whether and for what it happens
  bool certain = true;  // nor does it for a task that exists
  bool exists = true;   // no data decides whether the task does
  struct Index {
    PwAff lo;
    PwAff last;
    PwAff extent;
  };
  std::vector<Index> indices;
  Set scope;  // where it happens, before any index is looked at
};

struct EventRelations {
  std::vector<EdgeRelation> waits;
  std::vector<EdgeRelation> notifies;
};

EventRelations MakeEventRelations(Unknowns& unknowns);
/// The same with those that are known already, by their references.
EventRelations MakeEventRelations(Unknowns& unknowns, EventRelations known);

/// For each notify and wait of one event, by their references, the tasks of which the one makes
/// those of the other wait.
using EventSteps = std::map<std::pair<const EventRef*, const EventRef*>, Map>;

/// The order between tasks that events impose: a task that waits for an element comes after every
/// task that notifies it, as the element counts exactly its notifies.
class HappensBefore {
 public:
  /// `trusted`: the events whose counts are proved. `steps` keeps what was found for the next
  /// order, if it is given.
  HappensBefore(Unknowns& unknowns, const EventRelations& relations,
                const std::set<EventId>& trusted, EventSteps* steps = nullptr);
  /// The order if every event counts its notifies, whatever depends on data: all that may be.
  HappensBefore(Unknowns& unknowns, const EventRelations& relations);

  /// The pairs of a task of `from` and a task of `to` that comes after it; null where there is
  /// none.
  const Map& Between(size_t from, size_t to);
  /// Those of them that a single event orders.
  const Map& Directly(size_t from, size_t to) const { return direct_[from][to]; }
  /// Whether single events lead from call to call like this, whatever their tasks.
  bool Leads(size_t from, size_t to);
  /// Of these pairs of tasks, those that no chain of single events orders which leads from call to
  /// call like this.
  Map WithoutThoseAlong(const std::vector<size_t>& path, Map pairs) const;

 private:
  HappensBefore(Unknowns& unknowns, const EventRelations& relations,
                const std::set<EventId>* trusted, EventSteps* steps);
  enum class Step { Same, Later, Spine };
  /// What comes after the tasks of a source.
  struct Reach {
    explicit Reach(size_t calls) : tasks(calls), growth(calls) {}
    std::vector<Map> tasks;      // of each call
    std::vector<size_t> growth;  // how often each has grown
    /// The growth of `from` when it was last followed to `to`: what has not grown leads no further.
    std::map<std::tuple<size_t, size_t, Step, size_t, int64_t>, size_t> followed;
  };
  /// From the tasks of a call to those of the same call any number of laps later, each of as many
  /// iterations.
  struct Spine {
    int64_t lap;
    Map tasks;
    size_t crossings;  // from an iteration to a later one, in the chain that makes a lap
  };
  /// How a single event leads from a call to another one in later iterations of a repeat.
  struct Crossing {
    size_t from;
    size_t to;
    std::vector<int64_t> distances;  // the smallest ones
  };
  /// The order between the calls of a repeat as far as it shows without their tasks.
  struct Laps {
    std::vector<Crossing> crossings;
    std::vector<std::pair<size_t, size_t>> same;  // in one iteration
  };
  /// Calls that follow each other: all of a repeat or of a segment.
  struct Calls {
    size_t begin;
    size_t end;
  };

  static void Add(Reach& reach, size_t to, const Map& tasks);
  template <class EdgeOf>
  void Follow(Reach& reach, size_t source, size_t from, size_t to, Step step, size_t repeats,
              const EdgeOf& edge_of, int64_t lap = 0);
  void Enter(Reach& reach, size_t source, Calls before, Calls calls, size_t repeats);
  void WithinIteration(Reach& reach, size_t source, Calls calls, size_t repeats);
  void ToLaterIterations(Reach& reach, size_t source, Calls calls, size_t repeats);
  void WithinIterations(Reach& reach, size_t source, Calls calls, size_t repeats, size_t crossings);
  void AddItem(Reach& reach, size_t source, Calls item, size_t repeats);
  Calls ItemAt(size_t call, size_t repeats) const;
  const Laps& LapsOf(Calls repeat, size_t repeats);
  std::map<int64_t, size_t> LapsThrough(size_t call, Calls repeat, size_t repeats);
  const std::vector<Spine>& Spines(size_t call, Calls repeat, size_t repeats);
  Map MakeSpine(size_t call, Calls repeat, size_t repeats, int64_t lap, size_t crossings);

  Unknowns& unknowns_;
  const std::vector<ProgramCall>& calls_;
  std::vector<Calls> segments_;
  std::vector<std::vector<Map>> direct_;
  std::vector<std::vector<bool>> leads_;  // empty: not asked yet
  std::vector<Reach> reach_;
  std::vector<bool> may_lack_;  // whether data decide which tasks of the call exist
  std::vector<size_t> known_;  // for each source, the first segment that `reach_` does not have yet
  /// For each call and repeat around it.
  std::vector<std::vector<std::optional<std::vector<Spine>>>> spines_;
  std::map<std::pair<size_t, size_t>, Laps> laps_;  // by the first call of a repeat, and its depth
};

/// Whether task 2 of each pair in the set, of `y`, waits for an element that task 1, of `x`,
/// notifies, where data say which: the elements of tensors in the set are the same ones in the
/// edges. The set has all that is known of its terms.
bool MeetsInElements(Unknowns& unknowns, const EventRelations& relations,
                     const std::set<EventId>& trusted, const ProgramCall& x, const ProgramCall& y,
                     const Set& pairs);

}  // namespace etc
