#include "analysis/derivation/dependence_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/order/task_order.h"
#include "analysis/proofs/body_proofs.h"

namespace etc {
namespace {

/// Chains of events that take longer to follow are not followed: the dependence gets an event of
/// its own. Where one took too long others will, so each time the rest is given half of that.
constexpr unsigned long kMostStepsForOrder = 400'000;
constexpr unsigned long kLeastStepsForOrder = 20'000;

std::optional<size_t> CarriedBy(const Dependence& dependence) {
  return dependence.carried ? std::optional(dependence.repeats) : std::nullopt;
}

}  // namespace

struct DependenceGraph::State {
  State(const Module& module, const CallProgram& called, bool for_proofs)
      : program(called),
        read(std::make_shared<ReadBodies>(module, called, std::make_shared<IslContext>())),
        context(read->context),
        unknowns(read->unknowns),
        conflicts(unknowns, for_proofs ? ReadAhead(*read) : AccessesOf(unknowns)),
        order(unknowns) {}

  /// Whether events let all tasks of the one call wait for all of the other.
  bool IsBehindBarrier(const Dependence& d) {
    const ProgramCall& x = program.calls[d.from];
    const ProgramCall& y = program.calls[d.to];
    return !d.carried ? order.OrdersIteration(x, y)
                      : d.repeats == 0 && x.repeats.size() == 1 && y.repeats.size() == 1 &&
                            order.OrdersIterations(x, y);
  }

  /// Whether events order what data decide element by element, and the rest as it is.
  bool IsOrderedInData(const Dependence& d) {
    const Conflict& conflict = conflicts.Of(d);
    if (conflict.data.empty()) {
      return false;
    }
    context.SetBudget();
    auto covered = [&](const Set& pairs) {
      return IsEmpty(pairs) || order.Orders(d.from, d.to, conflicts.MapOf(d, pairs));
    };
    return covered(conflict.fixed) &&
           std::all_of(conflict.data.begin(), conflict.data.end(), [&](const Set& touched) {
             if (covered(conflicts.TasksOf(d, touched))) {
               return true;
             }
             Set possible = unknowns.WithAxioms(touched);
             return IsEmpty(possible) ||
                    order.OrdersInElements(program.calls[d.from], program.calls[d.to], possible);
           });
  }

  bool IsOrdered(const Dependence& d) {
    context.SetBudget();
    if (IsBehindBarrier(d) || IsEmpty(conflicts.Of(d).pairs)) {
      return true;
    }
    const Map& pairs = MapOf(d);
    context.SetExactBudget(steps_for_order);
    bool ordered = order.Orders(d.from, d.to, pairs);
    if (!ordered && context.GaveUp()) {
      steps_for_order = std::max(steps_for_order / 2, kLeastStepsForOrder);
    }
    return ordered || IsOrderedInData(d);
  }

  Set Restrict(const Dependence& d, const Iterations& iterations) {
    const Set& pairs = conflicts.Of(d).pairs;
    Set set = Restrict(d, iterations, pairs);
    return set.get() == pairs.get() ? set : Coalesce(set);
  }

  Set Restrict(const Dependence& d, const Iterations& iterations, Set set) {
    const auto& repeats = program.calls[d.from].repeats;
    for (size_t i = d.Related(); iterations.latest_from > 0 && i < repeats.size(); ++i) {
      PwAff before =
          LastIteration(unknowns, repeats[i]) - unknowns.Constant(iterations.latest_from);
      set = set & Lt(before, unknowns.Param(IterationName(i, 1)));
    }
    if (iterations.first_to > 0) {
      set = set & FirstIterations(d, iterations.first_to);
    }
    if (iterations.distance > 0) {
      set = set &
            Eq(unknowns.Param(IterationName(d.repeats, 1)) + unknowns.Constant(iterations.distance),
               unknowns.Param(IterationName(d.repeats, 2)));
    }
    return set;
  }
  const Map& MapOf(const Dependence& d) { return conflicts.MapOf(d, conflicts.Of(d).pairs); }

  /// The tasks of `to` in the first iterations of the repeats inside of those of the dependence.
  Set FirstIterations(const Dependence& d, int64_t number) {
    const auto& repeats = program.calls[d.to].repeats;
    Set set = unknowns.All();
    for (size_t i = d.Related(); i < repeats.size(); ++i) {
      PwAff behind = FirstIteration(unknowns, repeats[i]) + unknowns.Constant(number);
      set = set & Lt(unknowns.Param(IterationName(i, 2)), behind);
    }
    return set;
  }

  /// The iterations of `to` that the restriction itself leaves.
  Set RestrictedTo(const Dependence& d, const Iterations& iterations) {
    Set set = conflicts.SecondDomain(d.to);
    if (iterations.first_to > 0) {
      set = set & FirstIterations(d, iterations.first_to);
    }
    if (iterations.distance > 0) {
      PwAff earliest = FirstIteration(unknowns, program.calls[d.to].repeats[d.repeats]) +
                       unknowns.Constant(iterations.distance);
      set = set & Le(earliest, unknowns.Param(IterationName(d.repeats, 2)));
    }
    return set;
  }

  /// Whether nothing more than all tasks of `from` is to be said of what those of `to` need: that
  /// is quickly seen, and what most calls need. `coarse`: no event tells the tasks of `from` apart.
  bool NeedsAll(const Dependence& d, const Iterations& iterations, const Set& consumers,
                const Set& pairs, bool coarse) {
    const ProgramCall& from = program.calls[d.from];
    bool one_earlier = !d.carried || iterations.distance > 0;
    bool one_latest = from.repeats.size() <= d.Related() || iterations.latest_from == 1;
    if (!one_earlier || !one_latest) {
      return false;  // the iterations have to be said
    }
    return coarse ? IsSubset(consumers, ProjectOut(pairs, TaskNames(from, 1)))
                  : IsSubset(Restrict(d, iterations, conflicts.AllPairs(d)) & consumers, pairs);
  }

  /// Remembers what was found, as calls of one chain often need the same of each other.
  const std::vector<Needs>& NeedsOf(const NeedsScope& scope, const Set& pairs, bool in_parts) {
    for (const FoundNeeds& found : found_needs) {
      if (found.in_parts == in_parts && found.carried == scope.carried &&
          HaveSameAxes(*found.from, scope.from) && HaveSameAxes(*found.to, scope.to) &&
          IsPlainlyEqual(found.pairs, pairs) && IsPlainlyEqual(found.producers, scope.producers) &&
          IsPlainlyEqual(found.consumers, scope.consumers)) {
        return found.needs;
      }
    }
    found_needs.push_back(
        {&scope.from, &scope.to, pairs, scope.producers, scope.consumers, scope.carried, in_parts,
         in_parts ? etc::NeedsOf(scope, pairs) : std::vector{NeedsInOne(scope, pairs)}});
    return found_needs.back().needs;
  }

  static bool HaveSameAxes(const ProgramCall& a, const ProgramCall& b) {
    return a.repeats.size() == b.repeats.size() && a.axes.size() == b.axes.size();
  }

  const std::vector<Needs>& NeedsOf(const Dependence& d, const Iterations& iterations,
                                    bool in_parts, bool coarse) {
    auto [known, fresh] = needs.try_emplace({d, iterations, in_parts, coarse});
    if (fresh) {
      known->second = FindNeeds(d, iterations, in_parts, coarse);
    }
    return known->second;
  }

  std::vector<Needs> FindNeeds(const Dependence& d, const Iterations& iterations, bool in_parts,
                               bool coarse) {
    context.SetBudget();
    Set pairs = Restrict(d, iterations);
    if (IsEmpty(pairs)) {
      return {};
    }
    const ProgramCall& from = program.calls[d.from];
    Set consumers = RestrictedTo(d, iterations);
    if (NeedsAll(d, iterations, consumers, pairs, coarse)) {
      return {Needs::OfAll(from)};
    }
    NeedsScope scope{unknowns,  from,        program.calls[d.to], conflicts.FirstDomain(d.from),
                     consumers, CarriedBy(d)};
    return NeedsOf(scope, pairs, in_parts);
  }

  const std::optional<DataNeeds>& NeedsInData(const Dependence& d, const Iterations& iterations) {
    auto [known, fresh] = needs_in_data.try_emplace({d, iterations});
    if (fresh) {
      known->second = FindNeedsInData(d, iterations);
    }
    return known->second;
  }

  std::optional<DataNeeds> FindNeedsInData(const Dependence& d, const Iterations& iterations) {
    const Conflict& conflict = conflicts.Of(d);
    if (conflict.data.empty()) {
      return std::nullopt;
    }
    context.SetBudget();
    Set all = Restrict(d, iterations, conflict.fixed);
    for (const Set& touched : conflict.data) {
      all = all | Restrict(d, iterations, touched);
    }
    Set consumers = RestrictedTo(d, iterations);
    return etc::NeedsInData(unknowns,
                            {unknowns, program.calls[d.from], program.calls[d.to],
                             conflicts.FirstDomain(d.from), consumers, CarriedBy(d)},
                            Coalesce(all));
  }

  struct FoundNeeds {
    const ProgramCall* from;
    const ProgramCall* to;
    Set pairs;
    Set producers;
    Set consumers;
    std::optional<size_t> carried;
    bool in_parts;
    std::vector<Needs> needs;
  };

  const CallProgram& program;
  std::shared_ptr<ReadBodies> read;
  IslContext& context;
  Unknowns& unknowns;
  ConflictSets conflicts;
  TaskOrder order;
  std::vector<FoundNeeds> found_needs;
  std::map<std::tuple<Dependence, Iterations, bool, bool>, std::vector<Needs>> needs;
  std::map<std::pair<Dependence, Iterations>, std::optional<DataNeeds>> needs_in_data;
  unsigned long steps_for_order = kMostStepsForOrder;
  std::optional<Dependence> open;  // what was asked last, where it is in no order
};

std::vector<Dependence> DependencesBetween(const ProgramCall& from, const ProgramCall& to) {
  std::vector<Dependence> all;
  size_t common = CommonRepeats(from, to);
  if (from.index < to.index) {
    all.push_back({from.index, to.index, common});
  }
  while (common-- > 0) {
    all.push_back({from.index, to.index, common, true});
  }
  return all;
}

DependenceGraph::DependenceGraph(const Module& module, const CallProgram& program, bool for_proofs)
    : state_(std::make_unique<State>(module, program, for_proofs)) {}

DependenceGraph::~DependenceGraph() = default;

void DependenceGraph::FindAll() {
  const std::vector<ProgramCall>& calls = state_->program.calls;
  for (const ProgramCall& from : calls) {
    for (const ProgramCall& to : calls) {
      for (const Dependence& dependence : DependencesBetween(from, to)) {
        (void)state_->conflicts.Exists(dependence);  // it remembers that
      }
    }
  }
}

void DependenceGraph::LookAtCalls() { state_->order.LookAtCalls(); }

std::vector<Dependence> DependenceGraph::Unchained() {
  const std::vector<ProgramCall>& calls = state_->program.calls;
  auto between = [&](size_t from, size_t to) {
    return Dependence{from, to, CommonRepeats(calls[from], calls[to])};
  };
  std::vector<Dependence> all;
  for (size_t to = 0; to < calls.size(); ++to) {
    std::vector<size_t> before;  // the calls from which a chain leads to it
    for (size_t from = to; from-- > 0;) {
      bool chained = std::any_of(before.begin(), before.end(),
                                 [&](size_t k) { return Exists(between(from, k)); });
      bool exists = Exists(between(from, to));
      if (exists && !chained) {
        all.push_back(between(from, to));
      }
      if (exists || chained) {
        before.push_back(from);
      }
    }
  }
  return all;
}

void DependenceGraph::FindAhead(const Dependence& dependence, bool coarse) {
  State& state = *state_;
  if (IsEmpty(state.conflicts.Of(dependence).pairs)) {
    return;
  }
  (void)state.MapOf(dependence);
  // Where one of both is in repeats of its own, the iterations to ask for depend on what is found.
  const auto& calls = state.program.calls;
  bool in_one_block = calls[dependence.from].repeats.size() == dependence.repeats &&
                      calls[dependence.to].repeats.size() == dependence.repeats;
  if (in_one_block && !state.NeedsOf(dependence, {}, true, coarse).empty()) {
    (void)state.NeedsInData(dependence, {});
  }
}

void DependenceGraph::EventsChanged() { state_->order.EventsChanged(); }

void DependenceGraph::Leave(const std::set<const EventRef*>& waits) { state_->order.Leave(waits); }

bool DependenceGraph::Exists(const Dependence& dependence) {
  return state_->conflicts.Exists(dependence);
}

bool DependenceGraph::IsOrdered(const Dependence& dependence) {
  bool ordered = state_->IsOrdered(dependence);
  state_->open = ordered ? std::nullopt : std::optional(dependence);
  return ordered;
}

std::optional<int64_t> DependenceGraph::Distance(const Dependence& dependence) {
  const Conflict& conflict = state_->conflicts.Of(dependence);
  const Unknowns& unknowns = state_->unknowns;
  PwAff back = unknowns.Param(IterationName(dependence.repeats, 1)) -
               unknowns.Param(IterationName(dependence.repeats, 2));
  auto largest = LargestOn(conflict.pairs, back, unknowns);
  return largest ? std::optional(-*largest) : std::nullopt;
}

std::optional<int64_t> DependenceGraph::OpenDistance(const Dependence& dependence) {
  if (state_->open != dependence) {
    return std::nullopt;
  }
  const Map& pairs = state_->MapOf(dependence);
  state_->context.SetBudget();
  return state_->order.LeastOpenDistance(dependence.from, dependence.to, pairs, dependence.repeats);
}

std::vector<Needs> DependenceGraph::NeedsOf(const Dependence& dependence,
                                            const Iterations& iterations, bool in_parts,
                                            bool coarse) {
  return state_->NeedsOf(dependence, iterations, in_parts, coarse);
}

std::optional<DataNeeds> DependenceGraph::NeedsInData(const Dependence& dependence,
                                                      const Iterations& iterations) {
  return state_->NeedsInData(dependence, iterations);
}

std::shared_ptr<ReadBodies> DependenceGraph::bodies() const { return state_->read; }

DependenceGraph::Cause DependenceGraph::CauseOf(const Dependence& dependence) {
  return state_->conflicts.Of(dependence).cause;
}

}  // namespace etc
