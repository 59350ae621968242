// The order between tasks, as relations (iterations, coordinates) -> (iterations, coordinates).
//
// A graph is a straight line of segments, each a call or a repeat, so one pass over it composes all
// chains of steps. Inside a repeat two passes cover the same iteration and the next one. For
// further iterations a call is a spine: if P relates its tasks in any iteration with those in the
// one that comes a lap later, and P is contained in P after P, then P relates any iteration with
// any that comes some laps later, by induction. The cost does not depend on the number of
// iterations. A lap is mostly one iteration, and as many as a ring of buffers has places where what
// refills a place waits for what has used it. Which laps there are shows from the calls alone: they
// are the lengths of cycles of steps (happens_before_laps.cpp).
//
// An iteration of a repeat is again a straight line of calls and repeats: a pass over it closes
// each repeat inside of it in the same way, at equal iterations of those around. To a spine of the
// outer repeat the iterations of the inner ones are coordinates like others.
#include "analysis/order/happens_before.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/sets/task_pairs.h"

namespace etc {
namespace {

/// Of a relation between tasks of one call, the pairs of which the second is some laps later in the
/// repeat inside of the outermost `repeats` ones, and in one iteration of each of those.
Map LapsLater(Map pairs, size_t repeats, int64_t lap) {
  pairs = InLaterIteration(std::move(pairs), repeats);
  if (lap == 1) {
    return pairs;
  }
  isl_ctx* ctx = isl_map_get_ctx(pairs.get());
  Map laps(isl_map_read_from_str(
      ctx, fmt::format("{{ [a] -> [b] : (b - a) mod {} = 0 }}", lap).c_str()));
  auto at = static_cast<unsigned>(repeats);
  for (isl_dim_type type : {isl_dim_in, isl_dim_out}) {
    auto behind = static_cast<unsigned>(isl_map_dim(pairs.get(), type)) - at - 1;
    laps = Map(isl_map_insert_dims(laps.copy(), type, 1, behind));
    laps = Map(isl_map_insert_dims(laps.copy(), type, 0, at));
  }
  return Map(isl_map_intersect(pairs.copy(), laps.copy()));
}

/// Whether a relation is of all of some tasks to all of some others.
bool IsProduct(const Map& pairs) {
  return IsSubset(
      Map(isl_map_from_domain_and_range(isl_map_domain(pairs.copy()), isl_map_range(pairs.copy()))),
      pairs);
}

}  // namespace

HappensBefore::HappensBefore(Unknowns& unknowns, TaskSteps steps)
    : unknowns_(unknowns),
      calls_(unknowns.program().calls),
      steps_(std::move(steps)),
      leads_(calls_.size()) {
  for (const ProgramCall& call : calls_) {
    if (call.segment == segments_.size()) {
      segments_.push_back({call.index, call.index});
    }
    segments_.back().end = call.index + 1;
    known_.push_back(call.segment);
    spines_.emplace_back(call.repeats.size());
  }
}

void HappensBefore::Add(Reach& reach, size_t to, const Map& tasks) {
  reach.growth[to] += AddTo(reach.tasks[to], tasks) ? 1 : 0;
}

/// Continues from what `from` reaches (or from the source itself) to `to`. What waits for tasks
/// that need not exist does not wait for what those come after.
template <class EdgeOf>
void HappensBefore::Follow(Reach& reach, size_t source, size_t from, size_t to, Step step,
                           size_t repeats, const EdgeOf& edge_of, int64_t lap) {
  if (from != source && !reach.tasks[from]) {
    return;
  }
  auto [known, first] =
      reach.followed.try_emplace({from, to, step, repeats, lap}, reach.growth[from]);
  if (!first && known->second == reach.growth[from]) {
    return;
  }
  known->second = reach.growth[from];
  const Map edge = edge_of();
  if (edge && first && from == source) {
    Add(reach, to, edge);
  }
  if (edge && reach.tasks[from] && !steps_.may_lack[from]) {
    Add(reach, to, After(reach.tasks[from], edge));
  }
}

/// From the calls `before` to those of `calls`, in one iteration of the `repeats` repeats around
/// all of them.
void HappensBefore::Enter(Reach& reach, size_t source, Calls before, Calls calls, size_t repeats) {
  for (size_t to = calls.begin; to < calls.end; ++to) {
    for (size_t from = before.begin; from < before.end; ++from) {
      if (const Map& direct = Directly(from, to)) {
        Follow(reach, source, from, to, Step::Same, repeats,
               [&] { return InOneIteration(direct, repeats); });
      }
    }
  }
}

/// Chains inside of one iteration of the `repeats` repeats around the calls.
void HappensBefore::WithinIteration(Reach& reach, size_t source, Calls calls, size_t repeats) {
  for (size_t at = calls.begin; at < calls.end;) {
    Calls item = ItemAt(at, repeats);
    Enter(reach, source, {calls.begin, at}, item, repeats);
    AddItem(reach, source, item, repeats);
    at = item.end;
  }
}

/// Single steps to later iterations of the innermost of the `repeats` repeats around the calls.
void HappensBefore::ToLaterIterations(Reach& reach, size_t source, Calls calls, size_t repeats) {
  for (size_t to = calls.begin; to < calls.end; ++to) {
    for (size_t from = calls.begin; from < calls.end; ++from) {
      if (const Map& direct = Directly(from, to)) {
        Follow(reach, source, from, to, Step::Later, repeats,
               [&] { return InLaterIteration(direct, repeats - 1); });
      }
    }
  }
}

/// Chains inside of one iteration of the innermost of the `repeats` repeats around the calls, and
/// on into later iterations, so many times.
void HappensBefore::WithinIterations(Reach& reach, size_t source, Calls calls, size_t repeats,
                                     size_t crossings) {
  WithinIteration(reach, source, calls, repeats);
  for (size_t i = 0; i < crossings; ++i) {
    CrossOnce(reach, source, calls, repeats);
  }
}

void HappensBefore::CrossOnce(Reach& reach, size_t source, Calls calls, size_t repeats) {
  ToLaterIterations(reach, source, calls, repeats);
  WithinIteration(reach, source, calls, repeats);
}

/// The call, or the whole repeat that it stands in, inside of the `repeats` outermost around it.
HappensBefore::Calls HappensBefore::ItemAt(size_t call, size_t repeats) const {
  Calls item{call, call + 1};
  while (calls_[call].repeats.size() > repeats && item.end < calls_.size() &&
         CommonRepeats(calls_[call], calls_[item.end]) > repeats) {
    ++item.end;
  }
  return item;
}

bool HappensBefore::Leads(size_t from, size_t to) {
  std::vector<bool>& reached = leads_[from];
  if (reached.empty()) {
    reached.assign(calls_.size(), false);
    std::vector<size_t> open{from};
    while (!open.empty()) {
      size_t at = open.back();
      open.pop_back();
      for (const CallSteps::Step& step : steps_.calls.From(at)) {
        if (!reached[step.to]) {
          reached[step.to] = true;
          open.push_back(step.to);
        }
      }
    }
  }
  return reached[to];
}

const Map& HappensBefore::Between(size_t from, size_t to) {
  if (!Leads(from, to)) {
    return Directly(from, to);  // there is none
  }
  Reach& reach = reach_.try_emplace(from, calls_.size()).first->second;
  while (known_[from] <= calls_[to].segment) {
    size_t segment = known_[from]++;
    if (segment != calls_[from].segment) {
      Enter(reach, from, {segments_[calls_[from].segment].begin, segments_[segment].begin},
            segments_[segment], 0);
    }
    AddItem(reach, from, segments_[segment], 0);
  }
  return reach.tasks[to];
}

HappensBefore HappensBefore::By(const StepSet& steps) const {
  TaskSteps some{CallSteps(calls_.size()), steps_.may_lack};
  for (const auto& [from, to] : steps) {
    some.calls.Between(from, to) = Directly(from, to);
  }
  return {unknowns_, std::move(some)};
}

Map HappensBefore::WithoutThoseAlong(const std::vector<size_t>& path, Map pairs) const {
  Map ordered = Directly(path[0], path[1]);
  Set first(isl_map_domain(pairs.copy()));
  ordered = Map(isl_map_intersect_domain(ordered.copy(), first.copy()));
  for (size_t i = 2; i < path.size(); ++i) {
    if (steps_.may_lack[path[i - 1]] || !Directly(path[i - 1], path[i])) {
      return pairs;
    }
    ordered = Coalesce(After(ordered, Directly(path[i - 1], path[i])));
  }
  Set last(isl_map_range(pairs.copy()));
  ordered = Map(isl_map_intersect_range(ordered.copy(), last.copy()));
  return Coalesce(pairs - ordered);
}

/// Closes over all iterations of a repeat. A call alone has nothing to add.
void HappensBefore::AddItem(Reach& reach, size_t source, Calls item, size_t repeats) {
  if (calls_[item.begin].repeats.size() <= repeats) {
    return;
  }
  size_t inside = repeats + 1;
  size_t crossings = 1;
  WithinIterations(reach, source, item, inside, crossings);
  for (size_t call = item.begin; call < item.end; ++call) {
    if (call != source && !reach.tasks[call]) {
      continue;
    }
    for (const Spine& spine : Spines(call, item, repeats)) {
      crossings = std::max(crossings, spine.crossings);
      Follow(
          reach, source, call, call, Step::Spine, repeats, [&] { return spine.tasks; }, spine.lap);
    }
  }
  WithinIterations(reach, source, item, inside, crossings);
}

/// Of the repeat that is number `repeats` around the call; those of short laps first.
const std::vector<HappensBefore::Spine>& HappensBefore::Spines(size_t call, Calls repeat,
                                                               size_t repeats) {
  std::optional<std::vector<Spine>>& spines = spines_[call][repeats];
  if (spines) {
    return *spines;
  }
  spines.emplace();
  const EnclosingRepeat& around = calls_[call].repeats[repeats];
  // What is reached with so many steps to later iterations; laps may need equally many.
  std::vector<Reach> reach;
  for (const auto& [lap, crossings] : LapsThrough(call, repeat, repeats)) {
    if (steps_.may_lack[call] || around.iterations.lo + lap > around.iterations.hi) {
      continue;
    }
    if (reach.empty()) {
      reach.emplace_back(calls_.size());
      WithinIteration(reach.back(), call, repeat, repeats + 1);
    }
    while (reach.size() <= crossings) {
      reach.push_back(reach.back());
      CrossOnce(reach.back(), call, repeat, repeats + 1);
    }
    Map tasks = MakeSpine(call, repeats, lap, reach[crossings].tasks[call]);
    if (!tasks) {
      continue;
    }
    spines->push_back({lap, tasks, crossings});
    if (lap == 1 && IsProduct(tasks)) {
      break;  // longer laps add nothing
    }
  }
  return *spines;
}

/// From a task in one iteration to the tasks of the same call some laps later, by the tasks that it
/// reaches in one lap.
Map HappensBefore::MakeSpine(size_t call, size_t repeats, int64_t lap, const Map& reached) {
  const EnclosingRepeat& around = calls_[call].repeats[repeats];
  if (!reached) {
    return {};
  }
  // Every pair of tasks that some iteration and the one a lap later relate, in one iteration of the
  // repeats around.
  auto at = static_cast<unsigned>(repeats);
  auto drop = [&](Map map) {
    map = Map(isl_map_project_out(map.copy(), isl_dim_in, at, 1));
    return Map(isl_map_project_out(map.copy(), isl_dim_out, at, 1));
  };
  auto insert = [&](const Map& map) {
    return Map(isl_map_insert_dims(isl_map_insert_dims(map.copy(), isl_dim_in, at, 1), isl_dim_out,
                                   at, 1));
  };
  Map step = InNextIteration(Map(isl_map_universe(isl_map_get_space(reached.get()))), repeats, lap);
  auto in_range = [&](Map map) {
    std::vector<std::string> from = TaskNames(calls_[call], 1);
    std::vector<std::string> to = TaskNames(calls_[call], 2);
    Set range = unknowns_.All();
    for (int instance : {1, 2}) {
      PwAff iteration = unknowns_.Param(IterationName(repeats, instance));
      range = range & Le(FirstIteration(unknowns_, around), iteration) &
              Le(iteration, LastIteration(unknowns_, around));
    }
    return Map(isl_map_intersect(map.copy(), ToMap(unknowns_, range, from, to).copy()));
  };
  Map stepped(isl_map_intersect(reached.copy(), step.copy()));
  Map pairs = drop(stepped);
  Map everywhere = in_range(Map(isl_map_intersect(insert(pairs).copy(), step.copy())));
  Map missing = everywhere - stepped;
  pairs = Coalesce(pairs - drop(missing));
  if (IsEmpty(pairs) || !IsSubset(pairs, After(pairs, pairs))) {
    return {};
  }
  return in_range(LapsLater(insert(pairs), repeats, lap));
}

}  // namespace etc
