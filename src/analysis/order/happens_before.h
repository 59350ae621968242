// The order between all tasks at all sizes, composed of single steps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/order/steps.h"

namespace etc {

/// The order between tasks that chains of steps impose.
class HappensBefore {
 public:
  /// `unknowns` must outlive it.
  HappensBefore(Unknowns& unknowns, TaskSteps steps);

  /// The pairs of a task of `from` and a task of `to` that comes after it; null where there is
  /// none.
  const Map& Between(size_t from, size_t to);
  /// Those of them that a single step orders.
  const Map& Directly(size_t from, size_t to) const { return steps_.calls.Between(from, to); }
  /// Those from a call to others.
  const std::vector<CallSteps::Step>& DirectlyFrom(size_t from) const {
    return steps_.calls.From(from);
  }
  /// Whether single steps lead from call to call like this, whatever their tasks.
  bool Leads(size_t from, size_t to);
  /// The order by the chains of those single steps alone that lead from call to call like these.
  HappensBefore By(const StepSet& steps) const;
  /// Of these pairs of tasks, those that no chain of single steps orders which leads from call to
  /// call like this.
  Map WithoutThoseAlong(const std::vector<size_t>& path, Map pairs) const;

 private:
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
  /// How a single step leads from a call to another one in later iterations of a repeat.
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
  void CrossOnce(Reach& reach, size_t source, Calls calls, size_t repeats);
  void AddItem(Reach& reach, size_t source, Calls item, size_t repeats);
  Calls ItemAt(size_t call, size_t repeats) const;
  const Laps& LapsOf(Calls repeat, size_t repeats);
  std::map<int64_t, size_t> LapsThrough(size_t call, Calls repeat, size_t repeats);
  const std::vector<Spine>& Spines(size_t call, Calls repeat, size_t repeats);
  Map MakeSpine(size_t call, size_t repeats, int64_t lap, const Map& reached);

  Unknowns& unknowns_;
  const std::vector<ProgramCall>& calls_;
  std::vector<Calls> segments_;
  TaskSteps steps_;
  std::vector<std::vector<bool>> leads_;  // for each call; empty: not asked yet
  std::map<size_t, Reach> reach_;         // of the sources that somebody asked for
  std::vector<size_t> known_;  // for each source, the first segment that `reach_` does not have yet
  /// For each call and repeat around it.
  std::vector<std::vector<std::optional<std::vector<Spine>>>> spines_;
  std::map<std::pair<size_t, size_t>, Laps> laps_;  // by the first call of a repeat, and its depth
};

}  // namespace etc
