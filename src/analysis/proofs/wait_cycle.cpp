#include "analysis/proofs/wait_cycle.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace etc {
namespace {

constexpr size_t kMostInstances = 10'000;

using Iterations = std::vector<int64_t>;  // of the repeats around a call, the outermost first
using Instance = std::pair<size_t, Iterations>;
using Pairs = std::vector<std::pair<Iterations, Iterations>>;  // the notifier's first

/// The points of a set whose first `split` dimensions are the notifier's, the `rest` the waiter's.
struct Points {
  int split;
  int rest;
  Pairs pairs;
};

isl_stat AddPoint(isl_point* point, void* user) {
  auto* points = static_cast<Points*>(user);
  auto& [first, second] = points->pairs.emplace_back();
  for (int i = 0; i < points->split + points->rest; ++i) {
    Val value(isl_point_get_coordinate_val(point, isl_dim_set, i));
    (i < points->split ? first : second).push_back(isl_val_get_num_si(value.get()));
  }
  isl_point_free(point);
  return points->pairs.size() < kMostInstances ? isl_stat_ok : isl_stat_error;
}

/// The iterations of `notifier` and `waiter` that a relation between their tasks connects, at fixed
/// sizes. Nothing where more than sizes decides.
Pairs IterationsOf(const Unknowns& unknowns, size_t notifier, size_t waiter, Map pairs,
                   const Point& point) {
  for (SymbolId dim : unknowns.dims()) {
    std::string name = unknowns.DimName(dim);
    int position = isl_map_find_dim_by_name(pairs.get(), isl_dim_param, name.c_str());
    if (position >= 0) {
      pairs = Map(isl_map_fix_val(pairs.copy(), isl_dim_param, static_cast<unsigned>(position),
                                  isl_val_int_from_si(unknowns.ctx(), point.at(name))));
      pairs =
          Map(isl_map_project_out(pairs.copy(), isl_dim_param, static_cast<unsigned>(position), 1));
    }
  }
  const std::vector<ProgramCall>& calls = unknowns.program().calls;
  for (auto [call, type] : {std::pair{notifier, isl_dim_in}, std::pair{waiter, isl_dim_out}}) {
    auto repeats = static_cast<unsigned>(calls[call].repeats.size());
    auto rest = static_cast<unsigned>(isl_map_dim(pairs.get(), type)) - repeats;
    pairs = Map(isl_map_project_out(pairs.copy(), type, repeats, rest));
  }
  pairs = Map(isl_map_drop_unused_params(pairs.copy()));
  if (isl_map_dim(pairs.get(), isl_dim_param) != 0) {
    return {};
  }
  Set set(isl_set_flatten(isl_map_wrap(pairs.copy())));
  Points points{static_cast<int>(calls[notifier].repeats.size()),
                static_cast<int>(calls[waiter].repeats.size()),
                {}};
  (void)isl_set_foreach_point(set.get(), AddPoint, &points);
  return points.pairs;
}

}  // namespace

std::vector<WaitStep> FindWaitCycle(const Unknowns& unknowns, const EventRelations& relations,
                                    const WaitStep& late, const Map& late_pairs,
                                    const Point& point) {
  Pairs starts = IterationsOf(unknowns, late.notify->call, late.wait->call, late_pairs, point);
  if (starts.empty()) {
    return {};
  }
  Instance start{late.notify->call, starts[0].first};
  Instance goal{late.wait->call, starts[0].second};
  if (start == goal) {
    return {late};
  }
  // The calls for which each call waits, in each iteration.
  std::map<Instance, std::vector<std::pair<Instance, WaitStep>>> waits;
  for (const EdgeRelation& wait : relations.waits) {
    for (const EdgeRelation& notify : relations.notifies) {
      if (notify.edge->ref->event == wait.edge->ref->event && wait.exact && notify.exact) {
        Map pairs(
            isl_map_apply_range(notify.elements.copy(), isl_map_reverse(wait.elements.copy())));
        for (auto& [from, to] : IterationsOf(unknowns, notify.call, wait.call, pairs, point)) {
          waits[{wait.call, to}].push_back({{notify.call, from}, {&wait, &notify}});
        }
      }
    }
  }
  std::map<Instance, std::pair<Instance, WaitStep>> arrivals;
  std::deque<Instance> open{start};
  while (!open.empty() && !arrivals.contains(goal)) {
    Instance at = open.front();
    open.pop_front();
    for (const auto& [next, step] : waits[at]) {
      if (arrivals.try_emplace(next, at, step).second) {
        open.push_back(next);
      }
    }
  }
  std::vector<WaitStep> steps;
  for (Instance at = goal; at != start; at = arrivals.at(at).first) {
    if (!arrivals.contains(at)) {
      return {};
    }
    steps.push_back(arrivals.at(at).second);
  }
  steps.push_back(late);
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace etc
