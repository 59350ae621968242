// Events that a pass designs, before and as they become clauses of a graph.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/derivation/data_needs.h"
#include "analysis/derivation/task_expr.h"
#include "analysis/program.h"
#include "ir/evaluate.h"
#include "ir/rewrite.h"

namespace etc {

class Diagnostics;

/// Which iterations' elements of one repeat a task waits for.
struct IterationWait {
  enum class Kind {
    Same,     // its own
    Earlier,  // `distance` before its own, once there is one
    Before,   // all before its own
    Last,     // the last of the repeat
    Range,    // from `lo` to `last`
    All,
  };
  Kind kind = Kind::All;
  int64_t distance = 0;
  TaskExpr lo = {};
  TaskExpr last = {};

  bool operator==(const IterationWait&) const = default;
};

/// What a call waits for of a planned event.
struct PlannedWait {
  size_t call;
  std::vector<IterationWait> iterations;  // for each repeat around the event's call
  /// For each coordinate that the event tells apart: one element, or from `lo` to `last`.
  struct Coordinate {
    TaskExpr lo;
    std::optional<TaskExpr> last;

    bool operator==(const Coordinate&) const = default;
  };
  std::vector<Coordinate> coordinates;
  std::optional<TaskExpr> guard;
  /// Waits in the first iterations only of the repeats around it, from this number on: in so many
  /// of each.
  std::optional<size_t> first_only;
  int64_t first_iterations = 1;
  bool from_initial = false;  // the first iteration waits for the event's initial call
  std::string why;            // of the dependence that it is for
  bool reads_table = false;   // stands behind the call's waits for what the launch computes

  bool operator==(const PlannedWait&) const = default;
};

/// An event of the tasks of one call.
struct PlannedEvent {
  EventId event;
  size_t from;
  /// For each coordinate of `from`: 0 where the event does not tell its values apart, 1 where each
  /// has an element, else how many share one.
  std::vector<int64_t> grains;
  /// For each coordinate of `from`: what elements are told apart by in its place, if not by it.
  std::vector<std::optional<TaskKey>> keys;
  /// In a program of all ranks: the coordinate of `from` that says on which rank an element is. It
  /// is told apart. Absent where an element stands for tasks that every rank may wait for.
  std::optional<size_t> rank;
  /// A call before the innermost repeat of `from`, in one iteration of those around that, that
  /// stands for the iteration before its first: it notifies the first element, and the iterations
  /// follow. All grains are 0.
  std::optional<size_t> initial;
  std::vector<PlannedWait> waits;
};

/// Builds clauses of graph calls. Every event has the axes: iteration of each repeat around its
/// call, then the coordinates that it tells apart.
class EventPlan {
 public:
  /// `programs`: the graph in each range of its specialisation, which all get the same events. With
  /// `ranks`, the clauses are for the program that each of them runs, and what is planned is for
  /// the program of all of so many. There an element's rank is none of its indices: it is the own
  /// one, or a peer.
  EventPlan(Module& module, std::vector<CallProgram>& programs, int64_t ranks = 0);

  std::vector<PlannedEvent> events;

  EventId NewEvent(std::string name, SourceRange range);
  /// Makes the clauses of the program's calls those of `events`. The clauses of what is planned as
  /// it was stay where they are.
  void Apply();
  /// Writes them into the graph, the declarations before its first call.
  void Write(Graph& graph) const;

  /// Says what is planned, and why.
  void Remark(Diagnostics& diagnostics) const;

  /// Whether the coordinate has one range, that depends on no other coordinate and on no data.
  bool IsFixed(size_t call, size_t coordinate) const;
  /// Whether it also has values at all in each range of the specialisation, for elements of an
  /// event.
  bool CanSplit(size_t call, size_t coordinate) const;
  /// Whether no other coordinate's range depends on it.
  bool IsAlone(size_t call, size_t coordinate) const;
  /// Whether the call has no more tasks than these on one rank, at the smallest sizes of the first
  /// range in which it has any.
  bool HasAtMost(size_t call, int64_t most) const;
  /// Whether `last`, of a task of `to`, is among the values of a coordinate of `from`, or among
  /// their chunks of `grain`, for all tasks that there are in this range. True where it is not
  /// known.
  bool IsAmong(size_t from, size_t coordinate, int64_t grain, size_t to, const TaskExpr& last,
               const DimRanges& ranges);
  /// Whether the number of tasks is read from a slice that the iteration may name.
  bool IsCountedInSlice(size_t call) const;
  /// The number of tasks in one iteration, on one rank.
  ExprId CountOf(size_t call);

 private:
  bool ForEachRank() const { return ranks_ > 0; }

  /// The clauses of one event: `notifies` are those of its call and of its initial one, `waits` are
  /// as planned.
  struct Clauses {
    PlannedEvent plan;
    std::deque<EventRef> notifies;
    std::vector<std::shared_ptr<EventRef>> waits;
  };

  Clauses MakeClauses(const PlannedEvent& planned);
  void Update(Clauses& clauses, const PlannedEvent& planned);
  template <class Visit>
  void ForClauses(const Visit& visit) const;
  void Declare(const PlannedEvent& planned);
  EventRef Notify(const PlannedEvent& planned);
  EventRef Wait(const PlannedEvent& planned, const PlannedWait& wait);
  EventIndex IterationIndex(const PlannedEvent& planned, const PlannedWait& wait, size_t repeat);
  ExprId GuardOf(const PlannedEvent& planned, const PlannedWait& wait);
  bool MayBeEmpty(const EnclosingRepeat& repeat) const;
  ExprId Count(size_t call, const std::vector<int64_t>& grains, const std::vector<SymbolId>& vars,
               const std::vector<std::optional<TaskKey>>& keys);
  ExprId CountEach(size_t call, const std::vector<int64_t>& grains, Substitution symbols);
  TensorSubstitution ArgumentsOf(size_t call) const;
  ExprId OfElements(const PlannedEvent& planned, ExprId count, std::vector<EventDim>& dims);
  ExprId Build(size_t call, const TaskExpr& expr);
  ExprId Minus(ExprId value, ExprId lo) { return lo ? MakeSub(module_, value, lo) : value; }
  ExprId Quotient(ExprId value, int64_t divisor);
  ExprId ElementOf(const PlannedEvent& planned, size_t repeat, ExprId iteration);
  int64_t InitialElements(const PlannedEvent& planned, size_t repeat) const;
  ExprId And(ExprId left, ExprId right);
  /// Whether a coordinate that is told apart is an index of the event.
  bool IsIndex(const PlannedEvent& planned, size_t coordinate) const {
    return planned.grains[coordinate] != 0 && !(ForEachRank() && planned.rank == coordinate);
  }
  /// The coordinates of one rank's tasks alone.
  static std::vector<Axis> OnOneRank(const CallProgram& program, size_t call);
  bool AllWaitFor(const PlannedEvent& planned, size_t repeat, IterationWait::Kind kind) const;
  std::optional<int64_t> ShiftOf(ExprId value) const;
  std::optional<int64_t> ShiftOfWaits(const PlannedEvent& planned);
  void AddPeer(const PlannedEvent& planned, EventRef& notify);
  ExprId ShiftedRank(size_t call, int64_t shift);
  int64_t UnheardIterations(const PlannedEvent& planned, size_t repeat) const;
  const ProgramCall& CallAt(size_t call) const { return program_.calls[call]; }
  const Axis& AxisAt(size_t call, size_t coordinate) const {
    return program_.calls[call].axes[coordinate];
  }

  Module& module_;
  std::vector<CallProgram>& programs_;
  const CallProgram& program_;  // the first: they differ in the sizes alone
  const int64_t ranks_;
  std::vector<std::vector<SymbolId>> coords_;      // what clauses call the coordinates of each call
  std::vector<std::unique_ptr<Clauses>> clauses_;  // as `events`
};

}  // namespace etc
