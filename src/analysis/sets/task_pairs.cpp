#include "analysis/sets/task_pairs.h"

#include <isl/constraint.h>
#include <isl/local_space.h>

#include <algorithm>

#include "analysis/sets/task_scope.h"

namespace etc {

Map ToMap(const Unknowns& unknowns, const Set& set, const std::vector<std::string>& in,
          const std::vector<std::string>& out) {
  std::vector<std::string> others;
  for (const std::string& name : unknowns.Involved(set)) {
    bool kept = std::find(in.begin(), in.end(), name) != in.end() ||
                std::find(out.begin(), out.end(), name) != out.end();
    const Term* term = unknowns.Find(name);
    if (!kept && !unknowns.IsDim(name) && (term == nullptr || !term->global)) {
      others.push_back(name);
    }
  }
  Map map(isl_map_from_range(isl_set_from_params(ProjectOut(set, others).copy())));
  auto move = [&](const std::vector<std::string>& names, isl_dim_type type) {
    for (unsigned i = 0; i < names.size(); ++i) {
      int position = isl_map_find_dim_by_name(map.get(), isl_dim_param, names[i].c_str());
      map = position < 0 ? Map(isl_map_insert_dims(map.copy(), type, i, 1))
                         : Map(isl_map_move_dims(map.copy(), type, i, isl_dim_param,
                                                 static_cast<unsigned>(position), 1));
    }
  };
  move(in, isl_dim_in);
  move(out, isl_dim_out);
  return Coalesce(map);
}

Map InOneIteration(Map pairs, size_t repeats) {
  for (int i = 0; i < static_cast<int>(repeats); ++i) {
    pairs = Map(isl_map_equate(pairs.copy(), isl_dim_in, i, isl_dim_out, i));
  }
  return pairs;
}

Map InLaterIteration(Map pairs, size_t repeats) {
  pairs = InOneIteration(std::move(pairs), repeats);
  int at = static_cast<int>(repeats);
  return Map(isl_map_order_lt(pairs.copy(), isl_dim_in, at, isl_dim_out, at));
}

Map InNextIteration(Map pairs, size_t repeats, int64_t distance) {
  pairs = InOneIteration(std::move(pairs), repeats);
  isl_constraint* one =
      isl_constraint_alloc_equality(isl_local_space_from_space(isl_map_get_space(pairs.get())));
  one = isl_constraint_set_coefficient_si(one, isl_dim_out, static_cast<int>(repeats), 1);
  one = isl_constraint_set_coefficient_si(one, isl_dim_in, static_cast<int>(repeats), -1);
  one = isl_constraint_set_constant_si(one, static_cast<int>(-distance));
  return Map(isl_map_add_constraint(pairs.copy(), one));
}

Map After(const Map& first, const Map& second) {
  return Map(isl_map_apply_range(first.copy(), second.copy()));
}

Set Distances(const Map& pairs, size_t repeats) {
  Map iterations = pairs;
  for (isl_dim_type type : {isl_dim_in, isl_dim_out}) {
    auto at = static_cast<unsigned>(repeats);
    auto behind = static_cast<unsigned>(isl_map_dim(iterations.get(), type)) - at - 1;
    iterations = Map(isl_map_project_out(iterations.copy(), type, at + 1, behind));
    iterations = Map(isl_map_project_out(iterations.copy(), type, 0, at));
  }
  auto params = static_cast<unsigned>(isl_map_dim(iterations.get(), isl_dim_param));
  iterations = Map(isl_map_project_out(iterations.copy(), isl_dim_param, 0, params));
  return Set(isl_map_deltas(iterations.copy()));
}

std::optional<int64_t> LeastDistance(const Map& pairs, size_t repeats) {
  Set distances = Distances(pairs, repeats);
  return ToInt(Val(isl_set_dim_min_val(distances.copy(), 0)));
}

}  // namespace etc
