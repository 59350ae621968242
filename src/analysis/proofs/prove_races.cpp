// Two tasks that touch one element, one of them writing, must be ordered by events. CallProgram
// order says which of them comes first, but orders no tasks of different SMs.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analysis/proofs/between.h"
#include "analysis/proofs/buffers.h"
#include "analysis/proofs/prover.h"
#include "analysis/proofs/report_race.h"
#include "analysis/sets/task_pairs.h"

namespace etc {
namespace {

class RaceProof {
 public:
  RaceProof(Prover& prover, const EventRelations& relations, const ProgramAccesses& accesses,
            TaskOrder& order, Renewal& renewal)
      : prover_(prover),
        unknowns_(prover.unknowns),
        calls_(unknowns_.program().calls),
        order_(order),
        between_(unknowns_, accesses),
        report_(prover, relations),
        sizes_(unknowns_.GlobalFacts()),
        first_(accesses.first),
        second_(accesses.second),
        renewal_(renewal) {}

  void Run() {
    for (const ProgramCall& y : calls_) {
      if (!order_.FollowsProgramOrder()) {
        CheckBefore(y);
      }
    }
    for (const ProgramCall& y : calls_) {
      for (size_t x = calls_.size();
           !order_.FollowsProgramOrder() && !y.repeats.empty() && x-- > y.index + 1;) {
        if (CommonRepeats(calls_[x], y) > 0) {
          CheckIterations(calls_[x], y);
        }
      }
      CheckIterations(y, y);
    }
    CheckThatFollow();
  }

 private:
  /// Against the calls that stand before `y`; the nearest first, since an event from there may lead
  /// on from the others.
  ///
  /// If a call between `x` and `y` writes a tensor anew, each element that `x` touches is written
  /// by one of its tasks, which comes after that of `x` and before that of `y`. So where those
  /// pairs are in order, what is farther away is, too.
  void CheckBefore(const ProgramCall& y) {
    for (size_t x = y.index; x-- > 0;) {
      for (TensorId tensor : CommonTensors(calls_[x], y)) {
        bool follows = order_.OrdersAll(calls_[x], y) || FollowsRenewal(calls_[x], y, tensor);
        if (follows) {
          ForPairs(calls_[x], y, tensor, [&](const AccessRegion&, const AccessRegion&) {
            ++prover_.report.races.proved;
          });
        }
        if (follows || Check(calls_[x], y, tensor)) {
          in_order_.insert({x, y.index, tensor});
        }
      }
      CheckSharedMemory(calls_[x], y);
    }
  }

  /// Whether the pairs follow from those with the nearest call between that writes the tensor anew.
  bool FollowsRenewal(const ProgramCall& x, const ProgramCall& y, TensorId tensor) {
    for (size_t z = y.index; z-- > x.index + 1;) {
      if (in_order_.contains({z, y.index, tensor}) && renewal_.Renews(calls_[z], tensor)) {
        return in_order_.contains({x.index, z, tensor}) && RunsAfterEach(calls_[z], x);
      }
    }
    return false;
  }

  /// Against tasks of the iterations before.
  void CheckIterations(const ProgramCall& x, const ProgramCall& y) {
    for (TensorId tensor : CommonTensors(x, y)) {
      (void)Check(x, y, tensor);
    }
    CheckSharedMemory(x, y);
  }

  /// Those that both touch, as `x` touches them one after the other.
  std::vector<TensorId> CommonTensors(const ProgramCall& x, const ProgramCall& y) const {
    std::vector<TensorId> tensors;
    for (const AccessRegion& a : first_[x.index]) {
      bool common = std::any_of(second_[y.index].begin(), second_[y.index].end(),
                                [&](const AccessRegion& b) { return b.tensor == a.tensor; });
      if (common && std::find(tensors.begin(), tensors.end(), a.tensor) == tensors.end()) {
        tensors.push_back(a.tensor);
      }
    }
    return tensors;
  }

  /// Whether each iteration of `x` is followed by one of `z`, which stands behind it.
  static bool RunsAfterEach(const ProgramCall& z, const ProgramCall& x) {
    return CommonRepeats(z, x) == z.repeats.size();
  }

  /// Buffers of which the places in the workspace overlap: their uses must be in order, whatever
  /// the elements. `ProveMemory` holds that neither loses what it holds.
  void CheckSharedMemory(const ProgramCall& x, const ProgramCall& y) {
    for (const AccessRegion& a : first_[x.index]) {
      for (const AccessRegion& b : second_[y.index]) {
        if (a.tensor != b.tensor && (a.write || b.write)) {
          prover_.context.SetBudget();
          CheckShared(x, y, a, b);
        }
      }
    }
  }

  void CheckShared(const ProgramCall& x, const ProgramCall& y, const AccessRegion& a,
                   const AccessRegion& b) {
    const std::optional<Set>& overlap = prover_.overlaps.Of(a.tensor, b.tensor);
    if (!overlap) {
      return;
    }
    if (BehindGridBarrier(x, y)) {
      ++prover_.report.races.proved;
      return;
    }
    const Tensor& first = unknowns_.module().tensors[a.tensor];
    const Tensor& second = unknowns_.module().tensors[b.tensor];
    Set conflict = Coalesce(WithoutElement(a) & WithoutElement(b) & InOrder(x, y) & *overlap);
    if (IsEmpty(conflict) || IsCovered(x, y, conflict)) {
      ++prover_.report.races.proved;
      return;
    }
    prover_.NotProved(prover_.report.races, DiagnosticKind::Race, y.range,
                      fmt::format("`@{}` uses `%{}` in order with `@{}`, which uses `%{}`",
                                  y.device->name, second.name, x.device->name, first.name),
                      "they overlap in the workspace, and no chain of events between all of "
                      "their tasks is found");
  }

  Set WithoutElement(const AccessRegion& region) const {
    return ProjectOut(region.set, ElementNamesOf(unknowns_, region.tensor));
  }

  /// Whether each access of the tensor by `x` and one by `y` that conflict are in order.
  bool Check(const ProgramCall& x, const ProgramCall& y, TensorId tensor) {
    bool in_order = true;
    ForPairs(x, y, tensor, [&](const AccessRegion& a, const AccessRegion& b) {
      prover_.context.SetBudget();
      in_order = Check(x, y, a, b) && in_order;
    });
    return in_order;
  }

  template <class Visit>
  void ForPairs(const ProgramCall& x, const ProgramCall& y, TensorId tensor, const Visit& visit) {
    for (const AccessRegion& a : first_[x.index]) {
      for (const AccessRegion& b : second_[y.index]) {
        if (a.tensor == tensor && b.tensor == tensor && (a.write || b.write)) {
          visit(a, b);
        }
      }
    }
  }

  /// Pairs of tasks of which the first comes first in program order; of one call's tasks in one
  /// iteration, each pair once.
  Set InOrder(const ProgramCall& x, const ProgramCall& y) const {
    Set in_order = unknowns_.All() - unknowns_.All();
    for (const Time& time : TimesOf(x, y)) {
      in_order = in_order | time.pairs;
    }
    return Coalesce(in_order);
  }

  /// Of two tasks of one call in one iteration, each pair once.
  Set InOneIterationInOrder(const ProgramCall& call) const {
    Set same = InOneIteration(unknowns_, call.repeats.size());
    Set in_order = unknowns_.All() - unknowns_.All();
    for (size_t i = 0; i < call.axes.size(); ++i) {
      PwAff t1 = unknowns_.Param(CoordinateName(i, 1));
      PwAff t2 = unknowns_.Param(CoordinateName(i, 2));
      in_order = in_order | (same & Lt(t1, t2));
      same = same & Eq(t1, t2);
    }
    return in_order;
  }

  /// Whether all of the pairs are ordered by events between whole calls.
  bool BehindGridBarrier(const ProgramCall& x, const ProgramCall& y) {
    return x.index < y.index ? order_.OrdersAll(x, y)
                             : x.index > y.index && order_.OrdersIterations(x, y);
  }

  /// Whether the pairs in one iteration are ordered by single events, or none of them conflict.
  bool IsOrderedInIteration(const ProgramCall& x, const ProgramCall& y, const AccessRegion& a,
                            const AccessRegion& b) {
    Set pairs = x.index == y.index ? InOneIterationInOrder(x)
                                   : InOneIteration(unknowns_, CommonRepeats(x, y));
    Set conflict = Coalesce(a.set & b.set & pairs & sizes_);
    return IsEmpty(conflict) || IsDirect(x, y, conflict) ||
           (!(a.exact && b.exact) && IsEmpty(unknowns_.WithAxioms(conflict)));
  }

  /// Counts the fact as proved, or reports it.
  bool Check(const ProgramCall& x, const ProgramCall& y, const AccessRegion& a,
             const AccessRegion& b) {
    // The reader of a flagged buffer waits for each word.
    bool waits = unknowns_.module().tensors[a.tensor].flagged && a.write && !b.write;
    if (a.ahead || b.ahead || waits || BehindGridBarrier(x, y) ||
        (order_.OrdersIterations(x, y) && IsOrderedInIteration(x, y, a, b))) {
      ++prover_.report.races.proved;
      return true;
    }
    bool follows = false;
    Set conflict = OpenConflicts(x, y, a, b, follows);
    bool proved = IsEmpty(conflict);
    if (!proved && !(a.exact && b.exact)) {
      conflict = unknowns_.WithAxioms(conflict);
      proved =
          IsEmpty(conflict) || IsCovered(x, y, conflict) || order_.OrdersInElements(x, y, conflict);
    }
    if (proved) {
      ++prover_.report.races.proved;
      if (follows) {
        following_.push_back({x, y, a, b});
      }
      return true;
    }
    if (report_.Report(x, y, a, b, conflict)) {
      open_.insert(a.tensor);
    }
    return false;
  }

  /// Pairs of tasks of which the first comes first in program order, and what may stand between
  /// them: nothing between those of one call in one iteration.
  struct Time {
    std::optional<Dependence> dependence;
    Set pairs;
  };
  std::vector<Time> TimesOf(const ProgramCall& x, const ProgramCall& y) const {
    size_t repeats = CommonRepeats(x, y);
    std::vector<Time> times;
    if (x.index < y.index) {
      times.push_back({Dependence{x.index, y.index, repeats}, InOneIteration(unknowns_, repeats)});
    } else if (x.index == y.index) {
      times.push_back({std::nullopt, InOneIterationInOrder(x)});
    }
    for (size_t i = repeats; !order_.FollowsProgramOrder() && i-- > 0;) {
      times.push_back({Dependence{x.index, y.index, i, true}, InLaterIteration(unknowns_, i)});
    }
    return times;
  }

  /// Of the pairs of tasks that conflict, those that no events are seen to order, where what stands
  /// between them is in order. `follows`: some pairs are left out for that.
  Set OpenConflicts(const ProgramCall& x, const ProgramCall& y, const AccessRegion& a,
                    const AccessRegion& b, bool& follows) {
    Set open = unknowns_.All() - unknowns_.All();
    for (const auto& [dependence, pairs] : TimesOf(x, y)) {
      Set conflict = Coalesce(a.set & b.set & pairs & sizes_);
      if (IsEmpty(conflict) || IsDirect(x, y, conflict)) {
        continue;
      }
      if (dependence && !thorough_ && !unknowns_.program().flagged) {
        Set nearest = between_.WithoutOthers(*dependence, a, b, conflict);
        follows = follows || !IsPlainlyEqual(nearest, conflict);
        conflict = nearest;
      }
      if (!IsEmpty(conflict) && !IsCovered(x, y, conflict)) {
        open = open | conflict;
      }
    }
    return open;
  }

  /// Facts about a tensor that follow from others, where one of those is open: each is looked at by
  /// itself, for it to be said if it is open as well.
  void CheckThatFollow() {
    thorough_ = true;
    for (size_t i = 0; i < following_.size(); ++i) {
      const auto [x, y, a, b] = following_[i];
      if (open_.contains(a.tensor)) {
        --prover_.report.races.proved;
        prover_.context.SetBudget();
        (void)Check(x, y, a, b);
      }
    }
  }

  Map Tasks(const ProgramCall& x, const ProgramCall& y, const Set& conflict) const {
    return ToMap(unknowns_, conflict, TaskNames(x, 1), TaskNames(y, 2));
  }

  bool IsDirect(const ProgramCall& x, const ProgramCall& y, const Set& conflict) {
    return order_.OrdersDirectly(x.index, y.index, Tasks(x, y, conflict));
  }

  bool IsCovered(const ProgramCall& x, const ProgramCall& y, const Set& conflict) {
    return order_.Orders(x.index, y.index, Tasks(x, y, conflict));
  }

  Prover& prover_;
  Unknowns& unknowns_;
  const std::vector<ProgramCall>& calls_;
  TaskOrder& order_;
  Between between_;
  RaceReport report_;
  Set sizes_;  // with all that is known of terms over them
  const std::vector<std::vector<AccessRegion>>& first_;
  const std::vector<std::vector<AccessRegion>>& second_;
  Renewal& renewal_;
  std::set<std::tuple<size_t, size_t, TensorId>> in_order_;  // calls, and what they may conflict on
  struct Fact {
    const ProgramCall& x;
    const ProgramCall& y;
    const AccessRegion& a;
    const AccessRegion& b;
  };
  std::vector<Fact> following_;  // proved if others about their tensors are
  std::set<TensorId> open_;      // of which some are not
  bool thorough_ = false;        // nothing is to follow
};

}  // namespace

void ProveRaces(Prover& prover, const EventRelations& relations, const ProgramAccesses& accesses,
                TaskOrder& order, Renewal& renewal) {
  RaceProof(prover, relations, accesses, order, renewal).Run();
}

}  // namespace etc
