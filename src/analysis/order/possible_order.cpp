#include "analysis/order/possible_order.h"

#include <optional>
#include <utility>

namespace etc {
namespace {

/// Follows the events from one task on, with all sizes fixed.
class Search {
 public:
  Search(const Unknowns& unknowns, const HappensBefore& order, const Point& point)
      : unknowns_(unknowns),
        calls_(unknowns.program().calls),
        order_(order),
        point_(point),
        links_(calls_.size(), std::vector<std::optional<Map>>(calls_.size())) {}

  bool Leads(const ProgramCall& x, const ProgramCall& y) {
    std::vector<Set> reached(calls_.size());
    std::vector<Set> open(calls_.size());
    open[x.index] = TaskOf(x, 1);
    const Set goal = TaskOf(y, 2);
    for (bool grown = true; std::exchange(grown, false);) {
      for (size_t from = 0; from < calls_.size(); ++from) {
        const Set tasks = std::exchange(open[from], Set());
        for (size_t to = 0; tasks && to < calls_.size(); ++to) {
          const Map& link = LinkOf(from, to);
          if (!link) {
            continue;
          }
          Set next(isl_set_apply(tasks.copy(), link.copy()));
          next = reached[to] ? next - reached[to] : next;
          if (!next) {
            return true;  // too many steps
          }
          if (IsEmpty(next)) {
            continue;
          }
          if (to == y.index && !IsEmpty(next & goal)) {
            return true;
          }
          reached[to] = reached[to] ? Coalesce(reached[to] | next) : next;
          open[to] = open[to] ? open[to] | next : next;
          grown = true;
        }
      }
    }
    return false;
  }

 private:
  /// Of the tasks of the call, the one in the point, whose names end in `instance`.
  Set TaskOf(const ProgramCall& call, int instance) const {
    std::vector<std::string> names = TaskNames(call, instance);
    Set set(isl_set_universe(
        isl_space_set_alloc(unknowns_.ctx(), 0, static_cast<unsigned>(names.size()))));
    for (unsigned i = 0; i < names.size(); ++i) {
      auto value = point_.find(names[i]);
      if (value != point_.end()) {
        set = Set(isl_set_fix_si(set.copy(), isl_dim_set, i, static_cast<int>(value->second)));
      }
    }
    return set;
  }

  /// Pairs that single events order, at the sizes of the point.
  const Map& LinkOf(size_t from, size_t to) {
    std::optional<Map>& link = links_[from][to];
    if (link) {
      return *link;
    }
    link = order_.Directly(from, to);
    if (!*link) {
      return *link;
    }
    for (SymbolId dim : unknowns_.dims()) {
      std::string name = unknowns_.DimName(dim);
      int position = isl_map_find_dim_by_name(link->get(), isl_dim_param, name.c_str());
      auto value = point_.find(name);
      if (position >= 0 && value != point_.end()) {
        *link = Map(isl_map_fix_si(link->copy(), isl_dim_param, static_cast<unsigned>(position),
                                   static_cast<int>(value->second)));
      }
    }
    auto params = static_cast<unsigned>(isl_map_dim(link->get(), isl_dim_param));
    *link = Coalesce(Map(isl_map_project_out(link->copy(), isl_dim_param, 0, params)));
    return *link;
  }

  const Unknowns& unknowns_;
  const std::vector<ProgramCall>& calls_;
  const HappensBefore& order_;
  const Point& point_;
  std::vector<std::vector<std::optional<Map>>> links_;
};

}  // namespace

PossibleOrder::PossibleOrder(Unknowns& unknowns, const EventRelations& relations)
    : unknowns_(unknowns),
      chains_(unknowns, PossibleSteps(unknowns.program().calls.size(), relations)) {}

Map PossibleOrder::Open(const ProgramCall& x, const ProgramCall& y, const Map& pairs) {
  const Map& ordered = chains_.Between(x.index, y.index);
  return ordered ? pairs - ordered : pairs;
}

bool PossibleOrder::MayOrder(const ProgramCall& x, const ProgramCall& y, const Point& point) const {
  unknowns_.context().SetBudget();
  return Search(unknowns_, chains_, point).Leads(x, y);
}

}  // namespace etc
