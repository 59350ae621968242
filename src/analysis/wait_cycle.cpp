#include "analysis/wait_cycle.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace etc {
namespace {

constexpr size_t kMostInstances = 10'000;

using Instance = std::pair<size_t, int64_t>;  // a call in an iteration

/// The iterations of the notifier and of the waiter, at fixed sizes. Nothing where more than sizes
/// decides.
Set Iterations(const Unknowns& unknowns, Map pairs, const Point& point) {
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
  for (isl_dim_type type : {isl_dim_in, isl_dim_out}) {
    auto rest = static_cast<unsigned>(isl_map_dim(pairs.get(), type) - 1);
    pairs = Map(isl_map_project_out(pairs.copy(), type, 1, rest));
  }
  pairs = Map(isl_map_drop_unused_params(pairs.copy()));
  if (isl_map_dim(pairs.get(), isl_dim_param) != 0) {
    return {};
  }
  return Set(isl_set_flatten(isl_map_wrap(pairs.copy())));
}

/// Pairs of iterations, the notifier's first.
std::vector<std::pair<int64_t, int64_t>> PointsOf(const Set& set) {
  std::vector<std::pair<int64_t, int64_t>> points;
  auto add = [](isl_point* point, void* user) {
    auto* all = static_cast<std::vector<std::pair<int64_t, int64_t>>*>(user);
    Val first(isl_point_get_coordinate_val(point, isl_dim_set, 0));
    Val second(isl_point_get_coordinate_val(point, isl_dim_set, 1));
    isl_point_free(point);
    all->emplace_back(isl_val_get_num_si(first.get()), isl_val_get_num_si(second.get()));
    return all->size() < kMostInstances ? isl_stat_ok : isl_stat_error;
  };
  (void)isl_set_foreach_point(set.get(), add, &points);
  return points;
}

}  // namespace

std::vector<WaitStep> FindWaitCycle(const Unknowns& unknowns, const EventRelations& relations,
                                    const WaitStep& late, const Map& late_pairs,
                                    const Point& point) {
  auto starts = PointsOf(Iterations(unknowns, late_pairs, point));
  if (starts.empty()) {
    return {};
  }
  Instance start{late.notify->call, starts[0].first};
  Instance goal{late.wait->call, starts[0].second};
  if (start == goal) {
    return {late};
  }
  // What each call in each iteration waits for.
  std::map<Instance, std::vector<std::pair<Instance, WaitStep>>> waits;
  for (const EdgeRelation& wait : relations.waits) {
    for (const EdgeRelation& notify : relations.notifies) {
      if (notify.edge->ref->event == wait.edge->ref->event && wait.exact && notify.exact) {
        Map pairs(
            isl_map_apply_range(notify.elements.copy(), isl_map_reverse(wait.elements.copy())));
        for (auto [from, to] : PointsOf(Iterations(unknowns, pairs, point))) {
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
