#include "analysis/order/sampled_order.h"

#include <isl/point.h>

#include <algorithm>
#include <functional>

#include "ir/requirements.h"

namespace etc {
namespace {

/// What dimensions are near to, those first at which most cases of a tiling occur.
constexpr int64_t kValues[] = {11, 12, 6, 3, 1, 2, 4, 5, 7, 8, 9, 10};
/// Of each part of a relation, how many pairs of tasks are looked at for their distance.
constexpr int kMostPairs = 4000;
/// How many chains may put one relation in order, each for a part of it.
constexpr int kMostChains = 16;
/// After how many of them the steps of chains are composed over all iterations instead.
constexpr int kMostSingleChains = 8;
/// Of each part of a relation, how many pairs of tasks say which steps that takes.
constexpr int kMostPairsForSteps = 400;

using Task = TaskSample::Task;

/// Values of all dimensions near `value` at which a launch can be.
std::optional<Env> SizesNear(const Module& module, const DimRanges& ranges, int64_t value) {
  Env sizes;
  for (SymbolId dim : DimsOf(module)) {
    auto range = RangeOfDim(module, dim, ranges);
    ExprId multiple = module.symbols[dim].multiple;
    int64_t step = multiple ? EvaluateInt(module, multiple, {}).value_or(0) : 1;
    if (!range || step < 1 || range->lo > range->hi / step * step) {
      return std::nullopt;
    }
    int64_t near = std::clamp(value++, range->lo, range->hi);  // sizes differ
    sizes[dim] = std::min((near + step - 1) / step * step, range->hi / step * step);
  }
  return RequirementsHold(module, sizes, ranges) ? std::optional(sizes)
                                                 : FindSizes(module, ranges, Prefer::Small);
}

/// The pairs at some sizes; null where more than sizes and tasks decide.
Map AtSizes(const Module& module, const Env& sizes, const Map& pairs) {
  Map here = pairs;
  for (const auto& [dim, value] : sizes) {
    int at = isl_map_find_dim_by_name(here.get(), isl_dim_param, module.symbols[dim].name.c_str());
    if (at >= 0) {
      here = Map(isl_map_fix_si(here.copy(), isl_dim_param, static_cast<unsigned>(at),
                                static_cast<int>(value)));
      here = Map(isl_map_project_out(here.copy(), isl_dim_param, static_cast<unsigned>(at), 1));
    }
  }
  auto params = static_cast<unsigned>(isl_map_dim(here.get(), isl_dim_param));
  bool more = isl_map_involves_dims(here.get(), isl_dim_param, 0, params) != isl_bool_false;
  return more ? Map() : Map(isl_map_project_out(here.copy(), isl_dim_param, 0, params));
}

}  // namespace

/// Looks at pairs of tasks of two calls in a relation.
struct SampledOrder::Visitor {
  const TaskSample& sample;
  const ProgramCall& x;
  const ProgramCall& y;
  const std::function<bool(const Pair&)>& visit;
  int left;
  bool stopped = false;

  static isl_stat OnPoint(isl_point* point, void* user) {
    auto& visitor = *static_cast<Visitor*>(user);
    Pair pair;
    int at = 0;
    for (auto [call, task] :
         {std::pair{&visitor.x, &pair.first}, std::pair{&visitor.y, &pair.second}}) {
      for (size_t i = 0; i < call->repeats.size() + call->axes.size(); ++i) {
        Val value(isl_point_get_coordinate_val(point, isl_dim_set, at++));
        task->push_back(isl_val_get_num_si(value.get()));
      }
    }
    isl_point_free(point);
    auto from = visitor.sample.NumberOf(visitor.x.index, pair.first);
    auto to = visitor.sample.NumberOf(visitor.y.index, pair.second);
    if (from && to) {
      pair.from = *from;
      pair.to = *to;
      visitor.stopped = !visitor.visit(pair);
    }
    return visitor.stopped || --visitor.left == 0 ? isl_stat_error : isl_stat_ok;
  }
};

SampledOrder::SampledOrder(const Module& module, const CallProgram& program)
    : module_(module), program_(program) {}

/// Null where nothing is known there, or where it is the same as at another value.
TaskSample* SampledOrder::Near(int64_t value) {
  auto [found, fresh] = samples_.try_emplace(value);
  auto sizes = !fresh || value >= too_large_ ? std::nullopt
               : program_.sizes.empty()      ? SizesNear(module_, program_.ranges, value)
                                             : std::optional(program_.sizes);
  bool other = sizes && std::none_of(samples_.begin(), samples_.end(), [&](const auto& each) {
                 return each.second && each.second->sizes() == *sizes;
               });
  if (other) {
    auto sample = std::make_unique<TaskSample>(module_, program_, std::move(*sizes));
    if (sample->has_tasks()) {
      sample->EventsChanged({}, without_);
      found->second = std::move(sample);
    } else {
      too_large_ = value;
    }
  }
  return found->second.get();
}

void SampledOrder::EventsChanged(const std::set<const EventRef*>& without) {
  without_ = without;
  by_steps_.clear();
  std::set<const EventRef*> left;
  for (const ProgramCall& call : program_.calls) {
    for (const auto* edges : {&call.waits, &call.notifies}) {
      for (const TaskEdge& edge : *edges) {
        left.insert(edge.ref);
      }
    }
  }
  for (const auto& [value, sample] : samples_) {
    if (sample) {
      sample->EventsChanged(left, without);
    }
  }
}

/// Looks at so many pairs of each part of the relation, until `visit` wants no more. False where
/// nothing is known of them.
bool SampledOrder::ForPairs(TaskSample& sample, size_t from, size_t to, const Map& pairs, int most,
                            const std::function<bool(const Pair&)>& visit) const {
  Map here = sample.Link() ? AtSizes(module_, sample.sizes(), pairs) : Map();
  if (!here) {
    return false;
  }
  Set points(isl_map_wrap(here.copy()));
  isl_basic_set_list* parts = isl_set_get_basic_set_list(points.get());
  bool stopped = false;
  for (isl_size i = 0; !stopped && i < isl_basic_set_list_size(parts); ++i) {
    Set part(isl_set_from_basic_set(isl_basic_set_list_get_at(parts, i)));
    Visitor visitor{sample, program_.calls[from], program_.calls[to], visit, most};
    (void)isl_set_foreach_point(part.get(), Visitor::OnPoint, &visitor);
    stopped = visitor.stopped;
  }
  isl_basic_set_list_free(parts);
  return true;
}

std::optional<bool> SampledOrder::IsOrdered(const HappensBefore& order, size_t from, size_t to,
                                            Map pairs) {
  int chains = 0;
  for (int64_t value : kValues) {
    TaskSample* sample = Near(value);
    for (bool more = sample != nullptr; more && chains < kMostChains; ++chains) {
      if (chains == kMostSingleChains) {
        pairs = WithoutThoseOverAll(order, *sample, from, to, std::move(pairs));
      }
      if (!pairs || IsEmpty(pairs)) {
        return pairs ? std::optional(true) : std::nullopt;
      }
      bool open = false;
      std::vector<size_t> path;
      bool known = ForPairs(*sample, from, to, pairs, 1, [&](const Pair& pair) {
        open = !sample->IsBefore(pair.from, pair.to);
        path = open ? path : sample->PathOf(pair.from, pair.to);
        return false;
      });
      if (!known || open) {
        return known ? std::optional(false) : std::nullopt;
      }
      more = !path.empty();
      if (more) {
        pairs = order.WithoutThoseAlong(path, std::move(pairs));
        if (!pairs || IsEmpty(pairs)) {
          return pairs ? std::optional(true) : std::nullopt;
        }
      }
    }
  }
  return std::nullopt;
}

/// Chains through iterations of repeats have as many lengths as there are iterations, but few steps
/// from call to call. The order by these alone takes a part of what that by all steps does.
Map SampledOrder::WithoutThoseOverAll(const HappensBefore& order, TaskSample& sample, size_t from,
                                      size_t to, Map pairs) {
  StepSet steps;
  bool ordered = true;
  bool known = ForPairs(sample, from, to, pairs, kMostPairsForSteps, [&](const Pair& pair) {
    ordered = sample.IsBefore(pair.from, pair.to);
    if (ordered && !sample.IsBeforeBy(steps, pair.from, pair.to)) {
      std::vector<size_t> path = sample.PathOf(pair.from, pair.to);
      for (size_t i = 1; i < path.size(); ++i) {
        steps.emplace(path[i - 1], path[i]);
      }
    }
    return ordered;
  });
  if (!known || !ordered) {
    return pairs;
  }
  auto [some, fresh] = by_steps_.try_emplace(steps);
  if (fresh) {
    some->second.emplace(order.By(steps));
  }
  const Map& between = some->second->Between(from, to);
  return between ? Coalesce(pairs - between) : pairs;
}

SampledOrder::Distance SampledOrder::OpenDistance(size_t from, size_t to, const Map& pairs,
                                                  size_t repeats) {
  Distance distance;
  for (int64_t value : kValues) {
    if (TaskSample* sample = Near(value)) {
      int looked = 0;
      bool all = ForPairs(*sample, from, to, pairs, kMostPairs, [&](const Pair& pair) {
        ++looked;
        if (!sample->IsBefore(pair.from, pair.to)) {
          int64_t found = pair.second[repeats] - pair.first[repeats];
          distance.least = std::min(distance.least.value_or(found), found);
        }
        return true;
      });
      distance.known = all && (distance.least || looked < kMostPairs);
      break;
    }
  }
  return distance;
}

}  // namespace etc
