// Two tasks that touch one element, one of them writing, must be ordered by events. CallProgram
// order says which of them comes first, but orders no tasks of different SMs.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analysis/proofs/buffers.h"
#include "analysis/proofs/grid_barriers.h"
#include "analysis/proofs/missing_event.h"
#include "analysis/proofs/point_order.h"
#include "analysis/proofs/prover.h"

namespace etc {
namespace {

constexpr unsigned long kStepsForPair = 20'000'000;
/// How many pairs that seem to race are looked at for one that does.
constexpr int kMostTries = 8;

class RaceProof {
 public:
  RaceProof(Prover& prover, const EventRelations& relations, const ProgramAccesses& accesses,
            const std::set<EventId>& trusted, Renewal& renewal)
      : prover_(prover),
        unknowns_(prover.unknowns),
        calls_(unknowns_.program().calls),
        relations_(relations),
        trusted_(trusted),
        order_(unknowns_, relations, trusted),
        grid_barriers_(prover.unknowns, order_),
        sizes_(unknowns_.GlobalFacts()),
        first_(accesses.first),
        second_(accesses.second),
        renewal_(renewal) {}

  void Run() {
    bool launches = unknowns_.program().launches;  // each follows all before it
    for (const ProgramCall& y : calls_) {
      if (!launches) {
        CheckBefore(y);
      }
    }
    for (const ProgramCall& y : calls_) {
      for (size_t x = calls_.size(); !launches && !y.repeats.empty() && x-- > y.index + 1;) {
        if (CommonRepeats(calls_[x], y) > 0) {
          CheckIterations(calls_[x], y);
        }
      }
      CheckIterations(y, y);
    }
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
        bool follows = grid_barriers_.Orders(calls_[x], y) || FollowsRenewal(calls_[x], y, tensor);
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
          prover_.context.SetBudget(kStepsForPair);
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
      prover_.context.SetBudget(kStepsForPair);
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
    size_t repeats = CommonRepeats(x, y);
    Set same = InOneIteration(unknowns_, repeats);
    Set in_order = unknowns_.All() - unknowns_.All();
    // Of one call in a list of launches, another iteration is another launch.
    for (size_t i = 0; i < repeats && !unknowns_.program().launches; ++i) {
      in_order = in_order | InLaterIteration(unknowns_, i);
    }
    if (x.index != y.index) {
      return x.index < y.index ? Coalesce(same | in_order) : in_order;
    }
    return in_order | InOneIterationInOrder(x);
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
  bool BehindGridBarrier(const ProgramCall& x, const ProgramCall& y) const {
    return x.index < y.index ? grid_barriers_.Orders(x, y)
                             : x.index > y.index && grid_barriers_.OrdersIterations(x, y);
  }

  /// Whether the pairs in one iteration are ordered by single events, or none of them conflict.
  bool IsOrderedInIteration(const ProgramCall& x, const ProgramCall& y, const AccessRegion& a,
                            const AccessRegion& b) const {
    Set pairs = x.index == y.index ? InOneIterationInOrder(x)
                                   : InOneIteration(unknowns_, CommonRepeats(x, y));
    Set conflict = Coalesce(a.set & b.set & pairs & sizes_);
    const Map& direct = order_.Directly(x.index, y.index);
    return IsEmpty(conflict) || (direct && IsSubset(Tasks(x, y, conflict), direct)) ||
           (!(a.exact && b.exact) && IsEmpty(unknowns_.WithAxioms(conflict)));
  }

  /// Counts the fact as proved, or reports it.
  bool Check(const ProgramCall& x, const ProgramCall& y, const AccessRegion& a,
             const AccessRegion& b) {
    // The reader of a flagged buffer waits for each word.
    bool waits = unknowns_.module().tensors[a.tensor].flagged && a.write && !b.write;
    if (a.ahead || b.ahead || waits || BehindGridBarrier(x, y) ||
        (grid_barriers_.OrdersIterations(x, y) && IsOrderedInIteration(x, y, a, b))) {
      ++prover_.report.races.proved;
      return true;
    }
    Set conflict = Coalesce(a.set & b.set & InOrder(x, y) & sizes_);
    bool proved = IsEmpty(conflict) || IsCovered(x, y, conflict);
    if (!proved && !(a.exact && b.exact)) {
      conflict = unknowns_.WithAxioms(conflict);
      proved = IsEmpty(conflict) || IsCovered(x, y, conflict) ||
               MeetsInElements(unknowns_, relations_, trusted_, x, y, conflict);
    }
    if (proved) {
      ++prover_.report.races.proved;
      return true;
    }
    Map open = Tasks(x, y, conflict);
    if (!possible_order_) {
      // Without steps left it would lack links, and what they order would seem to race.
      prover_.context.SetBudget(kStepsForPair);
      possible_order_.emplace(unknowns_, relations_);
    }
    if (Map ordered = possible_order_->Between(x.index, y.index)) {
      open = open - ordered;
    }
    Report(x, y, a, b, conflict, open);
    return false;
  }

  Map Tasks(const ProgramCall& x, const ProgramCall& y, const Set& conflict) const {
    return ToMap(unknowns_, conflict, TaskNames(x, 1), TaskNames(y, 2));
  }

  bool IsCovered(const ProgramCall& x, const ProgramCall& y, const Set& conflict) {
    const Map& ordered = order_.Between(x.index, y.index);
    return ordered && IsSubset(Tasks(x, y, conflict), ordered);
  }

  void Report(const ProgramCall& x, const ProgramCall& y, const AccessRegion& a,
              const AccessRegion& b, const Set& conflict, const Map& open) {
    const Tensor& tensor = unknowns_.module().tensors[a.tensor];
    std::optional<Point> point;
    Set open_set = conflict & OpenSet(x, y, open);
    // A flagged word orders what follows its read after what precedes its write. Relations between
    // whole tasks cannot say that, so what seems open may be ordered.
    bool flagged = unknowns_.program().flagged;
    // Both must be possible at once: two elements that are not named may be the same one.
    bool possible = a.possible && b.possible && (!a.of_any_iteration || b.exact) &&
                    (!b.of_any_iteration || a.exact);
    if (open && possible && !flagged) {
      point = FindRace(x, y, open_set);
    }
    ProofTally& tally = prover_.report.races;
    if (!point) {
      prover_.NotProved(tally, DiagnosticKind::Race, y.range,
                        fmt::format("`@{}` {} `%{}` in order with `@{}`", y.device->name,
                                    b.write ? "writes" : "reads", tensor.name, x.device->name),
                        flagged
                            ? "flagged buffers order tasks word by word"
                            : ReasonOf(unknowns_, open && !IsEmpty(open) ? open_set : conflict));
      return;
    }
    std::string element = ElementText(unknowns_, a.tensor, *point);
    Diagnostic* error = prover_.Refuted(
        tally, DiagnosticKind::Race, y.range,
        fmt::format("{} {} {}, which {} {}, and no event orders them{}", TaskText(y, *point, 2),
                    b.write ? "writes" : "reads", element, TaskText(x, *point, 1),
                    a.write ? "writes" : "reads", SizesText(unknowns_, *point, &y, 2)));
    if (error == nullptr) {
      return;
    }
    bool same_call = x.index == y.index;
    for (size_t i = 0; same_call && i < x.repeats.size(); ++i) {
      same_call = point->at(IterationName(i, 1)) == point->at(IterationName(i, 2));
    }
    std::string iteration = x.repeats.empty() ? "" : SizesText(unknowns_, *point, &x, 1);
    std::string here = fmt::format("{} {} it here{}", TaskText(x, *point, 1),
                                   a.write ? "writes" : "reads", iteration);
    std::string missing = same_call
                              ? "tasks of one call run side by side"
                              : fmt::format("no chain of notifies and waits leads from {} to {}",
                                            TaskText(x, *point, 1), TaskText(y, *point, 2));
    std::optional<MissingEvent> event;
    if (!same_call && !unknowns_.program().scheduled) {
      event = FindMissingEvent(unknowns_, x, y, conflict, open_set);
    }
    if (event) {
      here += fmt::format("; add `{}` and, before it, `{}`", event->notify, event->declaration);
      missing += fmt::format("; add `{}`", event->wait);
      error->fix = {{x.statement.begin, event->declaration, true},
                    {x.range.end - 1, " " + event->notify},
                    {y.range.end - 1, " " + event->wait}};
    }
    error->notes.push_back({x.range, here});
    error->notes.push_back({y.range, missing});
  }

  /// Two tasks of the set that no chain of events puts in order, however long.
  std::optional<Point> FindRace(const ProgramCall& x, const ProgramCall& y, Set open) {
    for (int tries = 0; tries < kMostTries; ++tries) {
      prover_.context.SetBudget(kStepsForPair);
      auto point = FindWitness(unknowns_, unknowns_.Close(open));
      if (!point || !MayBeInOrder(unknowns_, *possible_order_, x, y, *point)) {
        return point;
      }
      open = open - AsFarApart(x, y, *point);
    }
    return std::nullopt;
  }

  /// The pairs of tasks whose iterations of the repeats around both are as far apart as in a point.
  Set AsFarApart(const ProgramCall& x, const ProgramCall& y, const Point& point) const {
    Set set = unknowns_.All();
    for (size_t i = 0; i < CommonRepeats(x, y); ++i) {
      std::string first = IterationName(i, 1);
      std::string second = IterationName(i, 2);
      auto from = point.find(first);
      auto to = point.find(second);
      if (from != point.end() && to != point.end()) {
        PwAff distance = unknowns_.Constant(to->second - from->second);
        set = set & Eq(unknowns_.Param(first) + distance, unknowns_.Param(second));
      }
    }
    return set;
  }

  /// The pairs of a relation as a set over the names of tasks.
  Set OpenSet(const ProgramCall& x, const ProgramCall& y, const Map& open) const {
    Map map = open;
    auto name = [&](const std::vector<std::string>& names, isl_dim_type type) {
      for (const std::string& each : names) {
        isl_size at = isl_map_dim(map.get(), isl_dim_param);
        map = Map(
            isl_map_move_dims(map.copy(), isl_dim_param, static_cast<unsigned>(at), type, 0, 1));
        map = Map(isl_map_set_dim_id(map.copy(), isl_dim_param, static_cast<unsigned>(at),
                                     isl_id_alloc(unknowns_.ctx(), each.c_str(), nullptr)));
      }
    };
    name(TaskNames(x, 1), isl_dim_in);
    name(TaskNames(y, 2), isl_dim_out);
    return Set(isl_map_params(map.copy()));
  }

  Prover& prover_;
  Unknowns& unknowns_;
  const std::vector<ProgramCall>& calls_;
  const EventRelations& relations_;
  const std::set<EventId>& trusted_;
  HappensBefore order_;
  GridBarriers grid_barriers_;
  std::optional<HappensBefore> possible_order_;  // once something is open
  Set sizes_;                                    // with all that is known of terms over them
  const std::vector<std::vector<AccessRegion>>& first_;
  const std::vector<std::vector<AccessRegion>>& second_;
  Renewal& renewal_;
  std::set<std::tuple<size_t, size_t, TensorId>> in_order_;  // calls, and what they may conflict on
};

}  // namespace

void ProveRaces(Prover& prover, const EventRelations& relations, const ProgramAccesses& accesses,
                const std::set<EventId>& trusted, Renewal& renewal) {
  RaceProof(prover, relations, accesses, trusted, renewal).Run();
}

}  // namespace etc
