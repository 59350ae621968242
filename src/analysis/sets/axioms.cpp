// What is known of two terms together.
#include <algorithm>

#include "analysis/sets/unknowns.h"

namespace etc {
namespace {

/// For x*c and y*c with 0 <= c: x + 1 <= y means x*c + c <= y*c.
Set Tiles(const Unknowns& unknowns, const Set& set, const Term& u, const Term& v, size_t common) {
  const PwAff& c = u.args[common];
  const PwAff& x = u.args[1 - common];
  PwAff u_value = unknowns.Param(u.name);
  PwAff v_value = unknowns.Param(v.name);
  for (size_t other : {size_t{0}, size_t{1}}) {
    const PwAff& d = v.args[other];
    const PwAff& y = v.args[1 - other];
    if (IsSubset(set, Eq(c, d)) && IsSubset(set, Le(unknowns.Constant(0), c))) {
      return Coalesce((set & Eq(x, y)) | (set & Lt(x, y) & Le(u_value + c, v_value)) |
                      (set & Lt(y, x) & Le(v_value + c, u_value)));
    }
  }
  return set;
}

/// Preconditions about the elements of one slice.
Set Elements(const Unknowns& unknowns, Set set, const Term& u, const Term& v, const Set& equal) {
  PwAff u_value = unknowns.Param(u.name);
  PwAff v_value = unknowns.Param(v.name);
  size_t slice = std::max(u.slice, v.slice);
  auto same = [&](size_t from, size_t to) {
    Set result = unknowns.All();
    for (size_t k = from; k < to; ++k) {
      result = result & Eq(u.args[k], v.args[k]);
    }
    return result;
  };
  if (u.distinct && v.distinct) {
    set = set - ((same(0, slice) - equal) & Eq(u_value, v_value));
  }
  if (u.monotone && v.monotone) {
    Set row = same(0, u.args.size() - 1);
    const PwAff& i = u.args.back();
    const PwAff& j = v.args.back();
    set = set - (row & Le(i, j) & Lt(v_value, u_value)) - (row & Le(j, i) & Lt(u_value, v_value));
  }
  return Coalesce(set);
}

}  // namespace

Set Unknowns::WithAxioms(Set set) const {
  std::vector<const Term*> terms = TermsIn(Close(set));
  std::sort(terms.begin(), terms.end());  // arguments before what is made of them
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t j = i + 1; j < terms.size(); ++j) {
      const Term& u = *terms[i];
      const Term& v = *terms[j];
      bool same = u.kind == v.kind && u.tensor == v.tensor && u.args.size() == v.args.size();
      if (!same || u.kind == Term::Kind::Any || (u.kind == Term::Kind::Element && !u.stable)) {
        continue;
      }
      Set closed = Close(set);
      Set equal = All();
      for (size_t k = 0; k < u.args.size(); ++k) {
        equal = equal & Eq(u.args[k], v.args[k]);
      }
      set = Coalesce((closed & equal & Eq(Param(u.name), Param(v.name))) | (closed - equal));
      if (u.kind == Term::Kind::Element) {
        set = Elements(*this, set, u, v, equal);
      }
      if (u.kind == Term::Kind::Product) {
        set = Tiles(*this, set, u, v, 0);
        set = Tiles(*this, set, u, v, 1);
      }
    }
  }
  return set;
}

}  // namespace etc
