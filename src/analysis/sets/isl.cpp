#include "analysis/sets/isl.h"

#include <algorithm>

#include "analysis/sets/isl_join.h"
#include "analysis/sets/isl_layout.h"
#include "analysis/sets/isl_wrapping.h"

namespace etc {
namespace {

constexpr isl_size kMostParts = 64;

// Steps of the budget that isl takes to bring a set to other parameters, and to make their space.
constexpr int kStepsToAlign = 10;
constexpr int kStepsForSpace = 6;

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

/// A basic set, and where its parameters stand in the space of an intersection.
struct Part {
  Part(isl_basic_set* piece, const Placement& places) : set(piece), placement(&places) {}
  Part(const Part&) = delete;
  Part(Part&& other) noexcept
      : set(std::exchange(other.set, nullptr)), placement(other.placement) {}
  Part& operator=(Part&&) = delete;
  ~Part() { isl_basic_set_free(set); }

  isl_basic_set* Aligned(isl_space* joined) const {
    isl_basic_set* copy = isl_basic_set_copy(set);
    return placement->is_same ? copy : isl_basic_set_align_params(copy, isl_space_copy(joined));
  }

  isl_basic_set* set;
  const Placement* placement;
};

isl_basic_set* Intersection(isl_space* joined, const Part& a, const Part& b) {
  for (const Part* part : {&a, &b}) {
    if (isl_basic_set_plain_is_empty(part->set) == isl_bool_true) {
      return part->Aligned(joined);
    }
  }
  isl_basic_set* both = JoinRows(joined, a.set, *a.placement, b.set, *b.placement);
  return both != nullptr ? both : isl_basic_set_intersect(a.Aligned(joined), b.Aligned(joined));
}

/// The parameters of all of them, in the order in which isl has them.
isl_space* SpaceOf(const std::vector<Set>& sets) {
  isl_space* all = isl_set_get_space(sets.front().get());
  for (size_t i = 1; i < sets.size(); ++i) {
    all = Behind(isl_set_get_space(sets[i].get()), all);
  }
  return all;
}

/// Each piece of each set with each of the others.
std::vector<Set> ProductOf(const std::vector<Set>& sets) {
  isl_space* joined = SpaceOf(sets);
  if (joined == nullptr) {
    return {Set()};  // the budget is spent
  }
  std::vector<Placement> placements;
  placements.reserve(sets.size());
  for (const Set& set : sets) {
    isl_space* own = isl_set_get_space(set.get());
    placements.emplace_back(own, joined);
    isl_space_free(own);
    if (!placements.back().is_same) {
      bool is_alone = placements.size() == 1 || sets.size() > 2;
      Spend(isl_set_get_ctx(set.get()), is_alone ? kStepsToAlign : kStepsToAlign - kStepsForSpace);
    }
  }
  const Placement same(joined, joined);
  auto parts_of = [&](size_t i) {
    std::vector<isl_basic_set*> pieces = PiecesOf(sets[i]);
    std::vector<Part> parts;
    parts.reserve(pieces.size());
    for (isl_basic_set* piece : pieces) {
      parts.emplace_back(piece, placements[i]);
    }
    return parts;
  };
  std::vector<Part> parts = parts_of(0);
  for (size_t i = 1; i < sets.size(); ++i) {
    std::vector<Part> rights = parts_of(i);
    std::vector<Part> product;
    product.reserve(parts.size() * rights.size());
    for (const Part& a : parts) {
      for (const Part& b : rights) {
        product.emplace_back(Intersection(joined, a, b), same);
      }
    }
    parts = std::move(product);
  }
  isl_space_free(joined);
  std::vector<Set> product;
  for (Part& part : parts) {
    product.emplace_back(isl_set_from_basic_set(std::exchange(part.set, nullptr)));
  }
  return product;
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

/// Whether a value has one affine form everywhere.
bool IsForm(const PwAff& value) { return isl_pw_aff_isa_aff(value.get()) == isl_bool_true; }

/// A piece of a value, and where it is that.
using ValuePiece = std::pair<Set, PwAff>;

std::vector<ValuePiece> PiecesOf(const PwAff& value) {
  std::vector<ValuePiece> pieces;
  isl_pw_aff_foreach_piece(
      value.get(),
      [](isl_set* where, isl_aff* form, void* all) {
        static_cast<std::vector<ValuePiece>*>(all)->emplace_back(Set(where),
                                                                 PwAff(isl_pw_aff_from_aff(form)));
        return isl_stat_ok;
      },
      &pieces);
  return pieces;
}

/// Whether two values certainly compare so at all points of a set.
bool HoldsOn(const Set& where, const PwAff& a, const PwAff& b,
             Set (*compare)(const PwAff&, const PwAff&)) {
  if (IsForm(a) && IsForm(b)) {
    return IsSubset(where, compare(a, b));
  }
  for (const PwAff& value : {a, b}) {
    if (!IsSubset(where, Set(isl_pw_aff_domain(value.copy())))) {
      return false;
    }
  }
  if (IsEmpty(where)) {  // else isl keeps a point of it, for this question and others
    return true;
  }
  std::vector<ValuePiece> pieces = PiecesOf(b);
  for (const auto& [where_a, form_a] : PiecesOf(a)) {
    Set in_a = where & where_a;
    for (const auto& [where_b, form_b] : pieces) {
      Set in_both = IsEmpty(in_a) ? in_a : in_a & where_b;
      if (!IsEmpty(in_both) && !IsSubset(in_both, compare(form_a, form_b))) {
        return false;
      }
    }
  }
  return true;
}

/// What `of_forms` makes of two values with one affine form each, and `of_pieces` of any others.
template <class OfForms, class OfPieces>
auto Combine(const PwAff& a, const PwAff& b, const OfForms& of_forms, const OfPieces& of_pieces) {
  if (!IsForm(a) || !IsForm(b)) {
    return of_pieces(a.copy(), b.copy());
  }
  return of_forms(isl_pw_aff_as_aff(a.copy()), isl_pw_aff_as_aff(b.copy()));
}

/// The same of forms that are brought to the same parameters.
template <auto* of_forms>
auto Aligned(isl_aff* first, isl_aff* second) {
  first = isl_aff_align_params(first, isl_aff_get_domain_space(second));
  second = isl_aff_align_params(second, isl_aff_get_domain_space(first));
  return of_forms(first, second);
}

template <AffComparison comparison, isl_set* (*of_forms)(isl_aff*, isl_aff*)>
Set Compare(const PwAff& a, const PwAff& b, isl_set* (*of_pieces)(isl_pw_aff*, isl_pw_aff*)) {
  auto compare = [](isl_aff* first, isl_aff* second) {
    isl_basic_set* rows = CompareRows(comparison, first, second);
    if (rows == nullptr) {
      return Aligned<of_forms>(first, second);
    }
    isl_aff_free(first);
    isl_aff_free(second);
    return isl_set_from_basic_set(rows);
  };
  return Set(Combine(a, b, compare, of_pieces));
}

/// A sum, difference or product of two forms as a value.
template <isl_aff* (*of_forms)(isl_aff*, isl_aff*)>
isl_pw_aff* Value(isl_aff* a, isl_aff* b) {
  return isl_pw_aff_from_aff(of_forms(a, b));
}

}  // namespace

Set Eq(const PwAff& a, const PwAff& b) {
  return Compare<AffComparison::Equal, isl_aff_eq_set>(a, b, isl_pw_aff_eq_set);
}

// As isl does, with the parameters of the smaller value first.
Set Le(const PwAff& a, const PwAff& b) {
  return Compare<AffComparison::AtLeast, isl_aff_ge_set>(b, a, isl_pw_aff_ge_set);
}

Set Lt(const PwAff& a, const PwAff& b) {
  return Compare<AffComparison::Above, isl_aff_gt_set>(b, a, isl_pw_aff_gt_set);
}

PwAff operator+(const PwAff& a, const PwAff& b) {
  return PwAff(Combine(a, b, Aligned<Value<isl_aff_add>>, isl_pw_aff_add));
}

PwAff operator-(const PwAff& a, const PwAff& b) {
  return PwAff(Combine(a, b, Aligned<Value<isl_aff_sub>>, isl_pw_aff_sub));
}

PwAff operator*(const PwAff& a, const PwAff& b) {
  return PwAff(Combine(a, b, Aligned<Value<isl_aff_mul>>, isl_pw_aff_mul));
}

std::vector<Set> PartsOf(const Set& set) {
  std::vector<Set> parts;
  for (isl_basic_set* piece : PiecesOf(set)) {
    parts.emplace_back(isl_set_from_basic_set(piece));
  }
  return parts;
}

bool AreEqualOn(const Set& where, const PwAff& a, const PwAff& b) {
  bool plain = IsForm(a) && isl_pw_aff_plain_is_equal(a.get(), b.get()) == isl_bool_true;
  return plain || HoldsOn(where, a, b, Eq);
}

bool IsAtMostOn(const Set& where, const PwAff& a, const PwAff& b) {
  return HoldsOn(where, a, b, Le);
}

Set Coalesce(const Set& set) {
  Set joined(isl_set_coalesce(set.copy()));
  return HasGrown(joined, set) ? set : joined;
}

Set CoalesceQuickly(const Set& set) {
  const WithoutWrapping others;
  return Coalesce(set);
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
  bool has_dimensions = false;
  for (const Set& set : sets) {
    if (!set) {
      return {};
    }
    parts *= isl_set_n_basic_set(set.get());
    has_dimensions = has_dimensions || isl_set_is_params(set.get()) != isl_bool_true;
  }
  if (parts == 0 && !has_dimensions) {
    Spend(isl_set_get_ctx(sets.front().get()), kStepsToAlign);
    return Set(isl_set_empty(SpaceOf(sets)));
  }
  if (parts < 1 || parts > kMostParts) {
    Set result = sets.front();
    for (size_t i = 1; i < sets.size(); ++i) {
      result = sets.size() > 2 ? result & sets[i]
                               : Set(isl_set_intersect(result.copy(), sets[i].copy()));
    }
    return result;
  }
  std::vector<Set> joined = sets.size() == 1 ? sets : ProductOf(sets);
  Set result;
  for (const Set& part : joined) {
    if (parts == 1 || !IsEmpty(part)) {
      result = result ? result | part : part;
    }
  }
  return result ? result : sets.front() - sets.front();
}

}  // namespace etc
