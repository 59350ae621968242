// The order between tasks, as relations (iteration, coordinates) -> (iteration, coordinates).
//
// A graph is a straight line of segments, each a call or a repeat, so one pass over it composes all
// chains of events. Inside a repeat two passes cover the same iteration and the next one. For
// further iterations a call is a spine: if P relates its tasks in any iteration with those in the
// next, and P is contained in P after P, then P relates any iteration with any later one, by
// induction. The cost does not depend on the number of iterations.
#include <isl/constraint.h>
#include <isl/local_space.h>

#include "analysis/events.h"

namespace etc {
namespace {

Map After(const Map& first, const Map& second) {
  return Map(isl_map_apply_range(first.copy(), second.copy()));
}

void AddTo(Map& sum, const Map& part) {
  if (!sum && !IsEmpty(part)) {
    sum = part;
  } else if (sum && !IsSubset(part, sum)) {
    sum = Coalesce(sum | part);
  }
}

}  // namespace

HappensBefore::HappensBefore(const Unknowns& unknowns, const EventRelations& relations,
                             const std::set<EventId>& trusted)
    : HappensBefore(unknowns, relations, &trusted) {}

HappensBefore::HappensBefore(const Unknowns& unknowns, const EventRelations& relations)
    : HappensBefore(unknowns, relations, nullptr) {}

HappensBefore::HappensBefore(const Unknowns& unknowns, const EventRelations& relations,
                             const std::set<EventId>* trusted)
    : calls_(unknowns.program().calls),
      direct_(calls_.size(), std::vector<Map>(calls_.size())),
      reach_(calls_.size(), Reach(calls_.size())),
      may_lack_(calls_.size(), false) {
  for (const ProgramCall& call : calls_) {
    segments_.resize(call.segment + 1);
    segments_[call.segment].push_back(call.index);
    known_.push_back(call.segment);
  }
  spines_.resize(segments_.size());
  for (const EdgeRelation& notify : relations.notifies) {
    may_lack_[notify.call] = trusted != nullptr && !notify.exists;
    for (const EdgeRelation& wait : relations.waits) {
      EventId event = notify.edge->ref->event;
      bool certain =
          notify.certain && wait.certain && trusted != nullptr && trusted->contains(event);
      if (event == wait.edge->ref->event && (certain || trusted == nullptr)) {
        Map back(isl_map_reverse(wait.elements.copy()));
        AddTo(direct_[notify.call][wait.call], After(notify.elements, back));
      }
    }
  }
}

/// Continues from what `from` reaches (or from the source itself) along the edges to `to`. What
/// waits for tasks that need not exist does not wait for what those come after.
void HappensBefore::Extend(Reach& reach, size_t from, size_t to, size_t source, Step step) {
  Map edge = direct_[from][to];
  if (!edge || (from != source && !reach[from])) {
    return;
  }
  if (step == Step::SameIteration) {
    edge = Map(isl_map_equate(edge.copy(), isl_dim_in, 0, isl_dim_out, 0));
  } else if (step == Step::LaterIteration) {
    edge = Map(isl_map_order_lt(edge.copy(), isl_dim_in, 0, isl_dim_out, 0));
  }
  if (from == source) {
    AddTo(reach[to], edge);
  }
  if (reach[from] && !may_lack_[from]) {
    AddTo(reach[to], After(reach[from], edge));
  }
}

void HappensBefore::Pass(Reach& reach, size_t source, const std::vector<size_t>& calls, Step step) {
  for (size_t to : calls) {
    for (size_t from : calls) {
      if (step == Step::LaterIteration || from < to) {
        Extend(reach, from, to, source, step);
      }
    }
  }
}

const Map& HappensBefore::Between(size_t from, size_t to) {
  while (known_[from] <= calls_[to].segment) {
    AddSegment(reach_[from], from, known_[from]++);
  }
  return reach_[from][to];
}

void HappensBefore::AddSegment(Reach& reach, size_t source, size_t segment) {
  const std::vector<size_t>& calls = segments_[segment];
  if (segment != calls_[source].segment) {
    for (size_t to : calls) {
      size_t first = segments_[calls_[source].segment].front();
      for (size_t from = first; calls_[from].segment < segment; ++from) {
        Extend(reach, from, to, source, Step::Any);
      }
    }
  }
  Pass(reach, source, calls, Step::SameIteration);
  if (calls.empty() || !calls_[calls[0]].repeat_var) {
    return;
  }
  Pass(reach, source, calls, Step::LaterIteration);
  Pass(reach, source, calls, Step::SameIteration);
  const auto& spines = Spines(segment);
  for (size_t i = 0; i < calls.size(); ++i) {
    if (spines[i] && reach[calls[i]]) {
      AddTo(reach[calls[i]], After(reach[calls[i]], *spines[i]));
    }
    if (spines[i] && calls[i] == source) {
      AddTo(reach[source], *spines[i]);
    }
  }
  Pass(reach, source, calls, Step::SameIteration);
  Pass(reach, source, calls, Step::LaterIteration);
  Pass(reach, source, calls, Step::SameIteration);
}

const std::vector<std::optional<Map>>& HappensBefore::Spines(size_t segment) {
  if (!spines_[segment]) {
    std::vector<std::optional<Map>> spines;
    for (size_t call : segments_[segment]) {
      spines.push_back(Spine(call));
    }
    spines_[segment] = std::move(spines);
  }
  return *spines_[segment];
}

/// From a task in one iteration to the tasks of the same call in later ones.
std::optional<Map> HappensBefore::Spine(size_t call) {
  if (may_lack_[call]) {
    return std::nullopt;
  }
  const ProgramCall& declared = calls_[call];
  const std::vector<size_t>& calls = segments_[declared.segment];
  Reach reach(calls_.size());
  Pass(reach, call, calls, Step::SameIteration);
  Pass(reach, call, calls, Step::LaterIteration);
  Pass(reach, call, calls, Step::SameIteration);
  if (!reach[call] || declared.repeat.lo >= declared.repeat.hi) {
    return std::nullopt;
  }
  // Every pair of coordinates that some iteration and the next one relate.
  auto drop = [](Map map) {
    map = Map(isl_map_project_out(map.copy(), isl_dim_in, 0, 1));
    return Map(isl_map_project_out(map.copy(), isl_dim_out, 0, 1));
  };
  isl_map* distance = isl_map_universe(isl_map_get_space(reach[call].get()));
  isl_constraint* one = isl_constraint_alloc_equality(
      isl_local_space_from_space(isl_map_get_space(reach[call].get())));
  one = isl_constraint_set_coefficient_si(one, isl_dim_out, 0, 1);
  one = isl_constraint_set_coefficient_si(one, isl_dim_in, 0, -1);
  one = isl_constraint_set_constant_si(one, -1);
  Map step(isl_map_add_constraint(distance, one));
  auto in_range = [&](Map map) {
    for (isl_dim_type type : {isl_dim_in, isl_dim_out}) {
      map = Map(isl_map_lower_bound_si(map.copy(), type, 0, static_cast<int>(declared.repeat.lo)));
      map = Map(isl_map_upper_bound_si(map.copy(), type, 0, static_cast<int>(declared.repeat.hi)));
    }
    return map;
  };
  Map stepped(isl_map_intersect(reach[call].copy(), step.copy()));
  Map pairs = drop(stepped);
  Map all(
      isl_map_insert_dims(isl_map_insert_dims(pairs.copy(), isl_dim_in, 0, 1), isl_dim_out, 0, 1));
  Map everywhere = in_range(Map(isl_map_intersect(all.copy(), step.copy())));
  Map missing = everywhere - stepped;
  pairs = Coalesce(pairs - drop(missing));
  if (IsEmpty(pairs) || !IsSubset(pairs, After(pairs, pairs))) {
    return std::nullopt;
  }
  Map later(
      isl_map_insert_dims(isl_map_insert_dims(pairs.copy(), isl_dim_in, 0, 1), isl_dim_out, 0, 1));
  return in_range(Map(isl_map_order_lt(later.copy(), isl_dim_in, 0, isl_dim_out, 0)));
}

}  // namespace etc
