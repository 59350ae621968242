#include "analysis/sets/isl.h"

#include <algorithm>

namespace etc {
namespace {

constexpr isl_size kMostParts = 64;

/// The pieces of a set.
std::vector<isl_basic_set*> PiecesOf(const Set& set) {
  std::vector<isl_basic_set*> pieces;
  isl_set_foreach_basic_set(
      set.get(),
      [](isl_basic_set* piece, void* all) {
        static_cast<std::vector<isl_basic_set*>*>(all)->push_back(piece);
        return isl_stat_ok;
      },
      &pieces);
  return pieces;
}

/// Each part with each piece of a set; all have the same parameters.
std::vector<Set> ProductOf(const std::vector<Set>& parts, const Set& set) {
  std::vector<isl_basic_set*> rights = PiecesOf(set);
  std::vector<Set> product;
  for (const Set& part : parts) {
    std::vector<isl_basic_set*> lefts = PiecesOf(part);
    for (isl_basic_set* a : lefts) {
      for (isl_basic_set* b : rights) {
        product.emplace_back(isl_set_from_basic_set(
            isl_basic_set_intersect(isl_basic_set_copy(a), isl_basic_set_copy(b))));
      }
    }
    std::for_each(lefts.begin(), lefts.end(), isl_basic_set_free);
  }
  std::for_each(rights.begin(), rights.end(), isl_basic_set_free);
  return product;
}

Set AlignedTo(const Set& set, const Set& other) {
  return Set(isl_set_align_params(set.copy(), isl_set_get_space(other.get())));
}

/// The sets with the parameters of all of them, in the order in which they come.
std::vector<Set> Aligned(const std::vector<Set>& sets) {
  std::vector<Set> aligned;
  if (sets.size() == 2) {
    aligned.push_back(AlignedTo(sets[0], sets[1]));
    aligned.push_back(AlignedTo(sets[1], aligned[0]));
    return aligned;
  }
  isl_space* all = isl_set_get_space(sets.front().get());
  for (const Set& set : sets) {
    all = isl_space_align_params(all, isl_set_get_space(set.get()));
  }
  for (const Set& set : sets) {
    aligned.emplace_back(isl_set_align_params(set.copy(), isl_space_copy(all)));
  }
  isl_space_free(all);
  return aligned;
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

/// The pieces that do not stand in the other set in the same form.
Set PiecesNotIn(const Set& set, const Set& other) {
  std::vector<isl_basic_set*> pieces = PiecesOf(set);
  std::vector<isl_basic_set*> others = PiecesOf(other);
  Set left(isl_set_empty(isl_set_get_space(set.get())));
  for (isl_basic_set* piece : pieces) {
    bool stands = std::any_of(others.begin(), others.end(), [&](isl_basic_set* each) {
      return isl_basic_set_plain_is_equal(piece, each) == isl_bool_true;
    });
    if (!stands) {
      left = left | Set(isl_set_from_basic_set(isl_basic_set_copy(piece)));
    }
  }
  std::for_each(pieces.begin(), pieces.end(), isl_basic_set_free);
  std::for_each(others.begin(), others.end(), isl_basic_set_free);
  return left;
}

/// Whether isl, joining the pieces of a set, has made them larger (see `Coalesce`).
bool HasGrown(const Set& joined, const Set& set) {
  bool fewer = isl_set_n_basic_set(joined.get()) < isl_set_n_basic_set(set.get());
  return fewer && HasStrides(set) && !IsSubset(PiecesNotIn(joined, set), set);
}

/// What `of_forms` makes of two values with one affine form each, and `of_pieces` of any others.
template <class OfForms, class OfPieces>
auto Combine(const PwAff& a, const PwAff& b, const OfForms& of_forms, const OfPieces& of_pieces) {
  if (isl_pw_aff_isa_aff(a.get()) != isl_bool_true ||
      isl_pw_aff_isa_aff(b.get()) != isl_bool_true) {
    return of_pieces(a.copy(), b.copy());
  }
  isl_aff* first = isl_pw_aff_as_aff(a.copy());
  isl_aff* second = isl_pw_aff_as_aff(b.copy());
  first = isl_aff_align_params(first, isl_aff_get_domain_space(second));
  second = isl_aff_align_params(second, isl_aff_get_domain_space(first));
  return of_forms(first, second);
}

/// A sum, difference or product of two forms as a value.
template <isl_aff* (*of_forms)(isl_aff*, isl_aff*)>
isl_pw_aff* Value(isl_aff* a, isl_aff* b) {
  return isl_pw_aff_from_aff(of_forms(a, b));
}

}  // namespace

Set Eq(const PwAff& a, const PwAff& b) {
  return Set(Combine(a, b, isl_aff_eq_set, isl_pw_aff_eq_set));
}

// As isl does, with the parameters of the smaller value first.
Set Le(const PwAff& a, const PwAff& b) {
  return Set(Combine(b, a, isl_aff_ge_set, isl_pw_aff_ge_set));
}

Set Lt(const PwAff& a, const PwAff& b) {
  return Set(Combine(b, a, isl_aff_gt_set, isl_pw_aff_gt_set));
}

PwAff operator+(const PwAff& a, const PwAff& b) {
  return PwAff(Combine(a, b, Value<isl_aff_add>, isl_pw_aff_add));
}

PwAff operator-(const PwAff& a, const PwAff& b) {
  return PwAff(Combine(a, b, Value<isl_aff_sub>, isl_pw_aff_sub));
}

PwAff operator*(const PwAff& a, const PwAff& b) {
  return PwAff(Combine(a, b, Value<isl_aff_mul>, isl_pw_aff_mul));
}

bool AreEqualOn(const Set& where, const PwAff& a, const PwAff& b) {
  bool plain = isl_pw_aff_isa_aff(a.get()) == isl_bool_true &&
               isl_pw_aff_plain_is_equal(a.get(), b.get()) == isl_bool_true;
  return plain || IsSubset(where, Eq(a, b));
}

Set Coalesce(const Set& set) {
  Set joined(isl_set_coalesce(set.copy()));
  return HasGrown(joined, set) ? set : joined;
}

Map Coalesce(const Map& map) {
  Map joined(isl_map_coalesce(map.copy()));
  return HasGrown(Set(isl_map_wrap(joined.copy())), Set(isl_map_wrap(map.copy()))) ? map : joined;
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

Set operator&(const Set& a, const Set& b) { return Join({a, b}); }

Set Join(const std::vector<Set>& sets) {
  isl_size parts = 1;
  for (const Set& set : sets) {
    if (!set) {
      return {};
    }
    parts *= isl_set_n_basic_set(set.get());
  }
  if (parts < 1 || parts > kMostParts) {
    Set result = sets.front();
    for (size_t i = 1; i < sets.size(); ++i) {
      result = sets.size() > 2 ? result & sets[i]
                               : Set(isl_set_intersect(result.copy(), sets[i].copy()));
    }
    return result;
  }
  std::vector<Set> aligned = Aligned(sets);
  std::vector<Set> joined{aligned.front()};
  for (size_t i = 1; i < aligned.size(); ++i) {
    joined = ProductOf(joined, aligned[i]);
  }
  Set result;
  for (const Set& part : joined) {
    if (parts == 1 || !IsEmpty(part)) {
      result = result ? result | part : part;
    }
  }
  return result ? result : sets.front() - sets.front();
}

}  // namespace etc
