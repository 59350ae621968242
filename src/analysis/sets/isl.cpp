#include "analysis/sets/isl.h"

namespace etc {
namespace {

constexpr isl_size kMostParts = 4;

/// The intersection of two sets of one basic set each.
Set Join(isl_basic_set* a, isl_basic_set* b) {
  return Set(isl_set_from_basic_set(isl_basic_set_intersect(a, b)));
}

/// Whether some piece has a stride, or another existentially quantified variable.
bool HasStrides(const Set& set) {
  bool found = false;
  isl_set_foreach_basic_set(
      set.get(),
      [](isl_basic_set* piece, void* strided) {
        *static_cast<bool*>(strided) |= isl_basic_set_dim(piece, isl_dim_div) != 0;
        isl_basic_set_free(piece);
        return isl_stat_ok;
      },
      &found);
  return found;
}

}  // namespace

Set Coalesce(const Set& set) {
  Set joined(isl_set_coalesce(set.copy()));
  return !HasStrides(set) || IsSubset(joined, set) ? joined : set;
}

Map Coalesce(const Map& map) {
  Map joined(isl_map_coalesce(map.copy()));
  return !HasStrides(Set(isl_map_wrap(map.copy()))) || IsSubset(joined, map) ? joined : map;
}

PwAff Coalesce(const PwAff& value) {
  bool found = false;
  isl_pw_aff_foreach_piece(
      value.get(),
      [](isl_set* where, isl_aff* part, void* strided) {
        isl_aff_free(part);
        *static_cast<bool*>(strided) |= HasStrides(Set(where));
        return isl_stat_ok;
      },
      &found);
  return found ? value : PwAff(isl_pw_aff_coalesce(value.copy()));
}

Set operator&(const Set& a, const Set& b) {
  isl_size parts = isl_set_n_basic_set(a.get()) * isl_set_n_basic_set(b.get());
  if (parts < 1 || parts > kMostParts) {
    return Set(isl_set_intersect(a.copy(), b.copy()));
  }
  Set left(isl_set_align_params(a.copy(), isl_set_get_space(b.get())));
  Set right(isl_set_align_params(b.copy(), isl_set_get_space(left.get())));
  isl_basic_set_list* lefts = isl_set_get_basic_set_list(left.get());
  isl_basic_set_list* rights = isl_set_get_basic_set_list(right.get());
  Set result;
  for (isl_size i = 0; i < isl_basic_set_list_size(lefts); ++i) {
    for (isl_size j = 0; j < isl_basic_set_list_size(rights); ++j) {
      Set part = Join(isl_basic_set_list_get_at(lefts, i), isl_basic_set_list_get_at(rights, j));
      if (parts == 1 || !IsEmpty(part)) {
        result = result ? result | part : part;
      }
    }
  }
  isl_basic_set_list_free(lefts);
  isl_basic_set_list_free(rights);
  return result ? result : left - left;
}

}  // namespace etc
