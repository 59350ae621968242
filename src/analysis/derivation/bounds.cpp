#include "analysis/derivation/bounds.h"

#include <isl/constraint.h>

#include <cstddef>

namespace etc {
namespace {

template <class IsLooser>
void TakeOut(std::vector<PwAff>& bounds, const IsLooser& is_looser) {
  for (size_t i = bounds.size(); i-- > 0;) {
    for (size_t j = 0; j < bounds.size(); ++j) {
      if (i != j && is_looser(bounds[i], bounds[j])) {
        bounds.erase(bounds.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
    }
  }
}

}  // namespace

PwAff AffineBounds::Low() const {
  PwAff low = lo[0];
  for (size_t i = 1; i < lo.size(); ++i) {
    low = PwAff(isl_pw_aff_max(low.copy(), lo[i].copy()));
  }
  return low;
}

PwAff AffineBounds::Last() const {
  PwAff lowest = last[0];
  for (size_t i = 1; i < last.size(); ++i) {
    lowest = PwAff(isl_pw_aff_min(lowest.copy(), last[i].copy()));
  }
  return lowest;
}

void AffineBounds::Add(const Set& values) {
  isl_basic_set* hull = isl_set_simple_hull(values.copy());
  isl_constraint_list* constraints = isl_basic_set_get_constraint_list(hull);
  for (isl_size i = 0; i < isl_constraint_list_size(constraints); ++i) {
    isl_constraint* constraint = isl_constraint_list_get_at(constraints, i);
    auto divs = static_cast<unsigned>(isl_constraint_dim(constraint, isl_dim_div));
    if (isl_constraint_involves_dims(constraint, isl_dim_set, 0, 1) == isl_bool_true &&
        isl_constraint_involves_dims(constraint, isl_dim_div, 0, divs) == isl_bool_false) {
      bool equal = isl_constraint_is_equality(constraint) == isl_bool_true;
      isl_aff* bound = isl_constraint_get_bound(constraint, isl_dim_set, 0);
      PwAff value(isl_pw_aff_from_aff(
          isl_aff_project_domain_on_params(isl_aff_drop_dims(bound, isl_dim_in, 0, 1))));
      if (equal || isl_constraint_is_lower_bound(constraint, isl_dim_set, 0) == isl_bool_true) {
        lo.emplace_back(isl_pw_aff_ceil(value.copy()));
      }
      if (equal || isl_constraint_is_upper_bound(constraint, isl_dim_set, 0) == isl_bool_true) {
        last.emplace_back(isl_pw_aff_floor(value.copy()));
      }
    }
    isl_constraint_free(constraint);
  }
  isl_constraint_list_free(constraints);
  isl_basic_set_free(hull);
}

void AffineBounds::Thin(const Set& where) {
  TakeOut(lo, [&](const PwAff& a, const PwAff& b) { return IsAtMostOn(where, a, b); });
  TakeOut(last, [&](const PwAff& a, const PwAff& b) { return IsAtMostOn(where, b, a); });
}

}  // namespace etc
