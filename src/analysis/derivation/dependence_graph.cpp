#include "analysis/derivation/dependence_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/derivation/bounds.h"
#include "analysis/events.h"
#include "analysis/steering.h"

namespace etc {
namespace {

constexpr unsigned long kSteps = 20'000'000;
/// Chains of events that take longer to follow are not followed: the dependence gets an event of
/// its own. Where one took too long others will, so each time the rest is given half of that.
constexpr unsigned long kMostStepsForOrder = 400'000;
constexpr unsigned long kLeastStepsForOrder = 20'000;

/// What a dependence comes from, and the pairs of tasks that do not follow from others: a set over
/// tasks 1 and 2.
struct Conflict {
  bool exists = false;
  Set pairs;
  DependenceGraph::Cause cause{};
};

}  // namespace

struct DependenceGraph::State {
  State(const Module& module, const CallProgram& called)
      : program(called), unknowns(module, called, context), between(unknowns, accesses) {
    accesses = AccessesOf(unknowns);
    context.SetBudget(kSteps);
    for (const ProgramCall& call : program.calls) {
      first_domains.push_back(Known(TaskScope(unknowns, call, 1).domain));
      second_domains.push_back(Known(TaskScope(unknowns, call, 2).domain));
    }
    AddSteering();
    sizes = unknowns.GlobalFacts();
    for (size_t i = 0; i < program.calls.size(); ++i) {
      first_domains[i] = first_domains[i] & sizes;
      second_domains[i] = second_domains[i] & sizes;
    }
  }

  /// What says which tasks run and what they wait for or notify counts as read by each of them:
  /// their range, counts and elements of events, and the range of tasks that they have to wait for.
  void AddSteering() {
    for (const ProgramCall& call : program.calls) {
      SteeringReads reads = RangeReads(unknowns, call);
      for (const TaskEdge& edge : call.waits) {
        reads.merge(EdgeReads(unknowns, call, edge, true));
      }
      for (const TaskEdge& edge : call.notifies) {
        reads.merge(EdgeReads(unknowns, call, edge, false));
      }
      for (const ProgramCall& other : program.calls) {
        if (other.index < call.index && Meet(other.index, call.index)) {
          reads.merge(RangeReads(unknowns, other));
        }
      }
      for (const auto& [tensor, elements] : reads) {
        for (auto [regions, domains] : {std::pair{&accesses.first, &first_domains},
                                        std::pair{&accesses.second, &second_domains}}) {
          AccessRegion whole;
          whole.tensor = tensor;
          whole.exact = false;
          whole.set = (*domains)[call.index];
          (*regions)[call.index].push_back(std::move(whole));
        }
      }
    }
  }

  /// Whether one call writes a tensor that the other touches.
  bool Meet(size_t x, size_t y) const {
    return std::any_of(
        accesses.first[x].begin(), accesses.first[x].end(), [&](const AccessRegion& a) {
          return std::any_of(
              accesses.second[y].begin(), accesses.second[y].end(),
              [&](const AccessRegion& b) { return a.tensor == b.tensor && (a.write || b.write); });
        });
  }

  /// Without what depends on data.
  Set Known(const Set& set) const {
    std::vector<std::string> others;
    for (const Term* term : unknowns.TermsIn(set)) {
      if (!term->global) {
        others.push_back(term->name);
      }
    }
    return ProjectOut(set, others);
  }

  const Conflict& ConflictOf(const Dependence& d) {
    auto [found, fresh] = conflicts.try_emplace(d);
    Conflict& conflict = found->second;
    if (!fresh) {
      return conflict;
    }
    context.SetBudget(kSteps);
    Set base = sizes & (d.carried ? InLaterIteration(unknowns, d.repeats)
                                  : InOneIteration(unknowns, d.repeats));
    conflict.pairs = unknowns.All() - unknowns.All();
    for (const AccessRegion& a : accesses.first[d.from]) {
      for (const AccessRegion& b : accesses.second[d.to]) {
        if (a.tensor != b.tensor || (!a.write && !b.write) || a.ahead || b.ahead) {
          continue;
        }
        if (between.AllFollow(d, a, b)) {
          conflict.exists = true;
          continue;
        }
        Set touched = Coalesce(a.set & b.set & base);
        if (IsEmpty(touched)) {
          continue;
        }
        conflict.exists = true;
        touched = between.WithoutOthers(d, a, b, touched);
        if (IsEmpty(touched)) {
          continue;
        }
        // A value that is read is the better reason than memory that is used again.
        bool value = a.write && !b.write;
        if (!conflict.cause.tensor || (value && conflict.cause.to_writes)) {
          conflict.cause = {a.tensor, a.write, b.write};
        }
        std::vector<std::string> kept = TaskNames(program.calls[d.from], 1);
        std::vector<std::string> more = TaskNames(program.calls[d.to], 2);
        kept.insert(kept.end(), more.begin(), more.end());
        std::vector<std::string> others;
        for (const std::string& name : unknowns.Involved(touched)) {
          const Term* term = unknowns.Find(name);
          bool keep = std::find(kept.begin(), kept.end(), name) != kept.end() ||
                      unknowns.IsDim(name) || (term != nullptr && term->global);
          if (!keep) {
            others.push_back(name);
          }
        }
        conflict.pairs = Coalesce(conflict.pairs | Coalesce(ProjectOut(touched, others)));
      }
    }
    return conflict;
  }

  HappensBefore& Order() {
    if (!order) {
      relations = MakeEventRelations(unknowns, std::move(relations));
      EventRelations left;
      std::set<EventId> trusted;
      for (auto [all, kept] : {std::pair{&relations.waits, &left.waits},
                               std::pair{&relations.notifies, &left.notifies}}) {
        for (const EdgeRelation& edge : *all) {
          if (!without.contains(edge.edge->ref)) {
            kept->push_back(edge);
            trusted.insert(edge.edge->ref->event);
          }
        }
      }
      order.emplace(unknowns, left, trusted, &steps);
    }
    return *order;
  }

  Set Restrict(const Dependence& d, const Iterations& iterations) {
    Set set = ConflictPairs(d);
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
  const Set& ConflictPairs(const Dependence& d) const { return conflicts.at(d).pairs; }

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
    Set set = second_domains[d.to];
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

  /// Remembers what was found, as calls of one chain often need the same of each other.
  const std::vector<Needs>& NeedsOf(const NeedsScope& scope, const Set& pairs, bool in_parts) {
    for (const FoundNeeds& found : found_needs) {
      if (found.in_parts == in_parts && HaveSameAxes(*found.from, scope.from) &&
          HaveSameAxes(*found.to, scope.to) && IsPlainlyEqual(found.pairs, pairs) &&
          IsPlainlyEqual(found.producers, scope.producers) &&
          IsPlainlyEqual(found.consumers, scope.consumers)) {
        return found.needs;
      }
    }
    found_needs.push_back(
        {&scope.from, &scope.to, pairs, scope.producers, scope.consumers, in_parts,
         in_parts ? etc::NeedsOf(scope, pairs) : std::vector{NeedsInOne(scope, pairs)}});
    return found_needs.back().needs;
  }

  static bool HaveSameAxes(const ProgramCall& a, const ProgramCall& b) {
    return a.repeats.size() == b.repeats.size() && a.axes.size() == b.axes.size();
  }

  struct FoundNeeds {
    const ProgramCall* from;
    const ProgramCall* to;
    Set pairs;
    Set producers;
    Set consumers;
    bool in_parts;
    std::vector<Needs> needs;
  };

  const CallProgram& program;
  IslContext context;
  Unknowns unknowns;
  Set sizes;
  ProgramAccesses accesses;
  Between between;
  std::vector<Set> first_domains;
  std::vector<Set> second_domains;
  std::map<Dependence, Conflict> conflicts;
  std::vector<FoundNeeds> found_needs;
  std::set<const EventRef*> without;
  EventRelations relations;
  EventSteps steps;
  std::optional<HappensBefore> order;
  unsigned long steps_for_order = kMostStepsForOrder;
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

DependenceGraph::DependenceGraph(const Module& module, const CallProgram& program)
    : state_(std::make_unique<State>(module, program)) {}

DependenceGraph::~DependenceGraph() = default;

/// What is known of references that are gone goes, as others may get their place.
void DependenceGraph::EventsChanged() {
  std::set<const EventRef*> left;
  for (const ProgramCall& call : state_->program.calls) {
    for (const auto* edges : {&call.waits, &call.notifies}) {
      for (const TaskEdge& edge : *edges) {
        left.insert(edge.ref);
      }
    }
  }
  auto is_gone = [&](const EdgeRelation& edge) { return !left.contains(edge.ref); };
  std::erase_if(state_->relations.waits, is_gone);
  std::erase_if(state_->relations.notifies, is_gone);
  std::erase_if(state_->steps, [&](const auto& step) {
    return !left.contains(step.first.first) || !left.contains(step.first.second);
  });
  state_->order.reset();
}

void DependenceGraph::Leave(const std::set<const EventRef*>& waits) {
  state_->without = waits;
  state_->order.reset();
}

bool DependenceGraph::Exists(const Dependence& dependence) {
  return state_->ConflictOf(dependence).exists;
}

bool DependenceGraph::IsOrdered(const Dependence& dependence) {
  const auto& calls = state_->program.calls;
  if (IsEmpty(state_->ConflictOf(dependence).pairs)) {
    return true;
  }
  Map pairs = ToMap(state_->unknowns, state_->ConflictOf(dependence).pairs,
                    TaskNames(calls[dependence.from], 1), TaskNames(calls[dependence.to], 2));
  state_->context.SetBudget(state_->steps_for_order);
  HappensBefore& order = state_->Order();
  auto covered_by = [&](const Map& ordered) { return ordered && IsSubset(pairs, ordered); };
  bool ordered = covered_by(order.Directly(dependence.from, dependence.to)) ||
                 covered_by(order.Between(dependence.from, dependence.to));
  if (!ordered && state_->context.GaveUp()) {
    state_->steps_for_order = std::max(state_->steps_for_order / 2, kLeastStepsForOrder);
  }
  return ordered;
}

std::optional<int64_t> DependenceGraph::Distance(const Dependence& dependence) {
  const Conflict& conflict = state_->ConflictOf(dependence);
  const Unknowns& unknowns = state_->unknowns;
  PwAff back = unknowns.Param(IterationName(dependence.repeats, 1)) -
               unknowns.Param(IterationName(dependence.repeats, 2));
  auto largest = LargestOn(conflict.pairs, back, unknowns);
  return largest ? std::optional(-*largest) : std::nullopt;
}

std::optional<int64_t> DependenceGraph::OpenDistance(const Dependence& dependence) {
  const auto& calls = state_->program.calls;
  Map open = ToMap(state_->unknowns, state_->ConflictOf(dependence).pairs,
                   TaskNames(calls[dependence.from], 1), TaskNames(calls[dependence.to], 2));
  state_->context.SetBudget(kSteps);
  if (const Map& ordered = state_->Order().Between(dependence.from, dependence.to)) {
    open = open - ordered;
  }
  return LeastDistance(open, dependence.repeats);
}

std::vector<Needs> DependenceGraph::NeedsOf(const Dependence& dependence,
                                            const Iterations& iterations, bool in_parts) {
  State& state = *state_;
  (void)state.ConflictOf(dependence);
  state.context.SetBudget(kSteps);
  Set pairs = Coalesce(state.Restrict(dependence, iterations));
  if (IsEmpty(pairs)) {
    return {};
  }
  const auto& calls = state.program.calls;
  Set consumers = state.RestrictedTo(dependence, iterations);
  NeedsScope scope{state.unknowns, calls[dependence.from], calls[dependence.to],
                   state.first_domains[dependence.from], consumers};
  return state.NeedsOf(scope, pairs, in_parts);
}

DependenceGraph::Cause DependenceGraph::CauseOf(const Dependence& dependence) {
  return state_->ConflictOf(dependence).cause;
}

}  // namespace etc
