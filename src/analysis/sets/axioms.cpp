// What is known of two terms together: points that no values of them have.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "analysis/sets/unknowns.h"

namespace etc {
namespace {

/// Of terms `u` and `v` of one kind, takes what cannot be out of a set. Most of it is not in there,
/// and what is left of a set without it would be in more pieces.
class Axioms {
 public:
  Axioms(const Unknowns& unknowns, const Term& u, const Term& v, Set& set)
      : unknowns_(unknowns),
        u_(u),
        v_(v),
        u_value_(unknowns.Param(u.name)),
        v_value_(unknowns.Param(v.name)),
        set_(set) {}

  /// Distinct elements of one slice differ. Where two are known to be equal, their indices are,
  /// and with these most of what is made of them. To say so splits no part, and costs less than to
  /// take out the rest.
  void Distinct() {
    if (u_.kind == Term::Kind::Element && u_.distinct && v_.distinct) {
      size_t slice = std::max(u_.slice, v_.slice);
      if (slice == 0 && IsSubset(set_, Eq(u_value_, v_value_))) {
        set_ = Coalesce(set_ & Same(0, u_.args.size()));
        return;
      }
      Without((Same(0, slice) - Same(0, u_.args.size())) & Eq(u_value_, v_value_));
    }
  }

  void Rest() {
    // A function has one value for equal arguments.
    Set same = Same(0, u_.args.size());
    if (IsSubset(set_, same)) {
      set_ = Coalesce(set_ & Eq(u_value_, v_value_));
    } else {
      Without(same & Ne(u_value_, v_value_));
    }
    if (u_.kind == Term::Kind::Element && u_.monotone && v_.monotone) {
      Set row = Same(0, u_.args.size() - 1);
      const PwAff& i = u_.args.back();
      const PwAff& j = v_.args.back();
      Without(row & Le(i, j) & Lt(v_value_, u_value_));
      Without(row & Le(j, i) & Lt(u_value_, v_value_));
    }
    if (u_.kind == Term::Kind::Product) {
      Tiles(0);
      Tiles(1);
    }
  }

 private:
  void Without(const Set& impossible) {
    if (!IsEmpty(set_ & impossible)) {
      set_ = Coalesce(set_ - impossible);
    }
  }

  /// Where these arguments are the same.
  Set Same(size_t from, size_t to) const {
    Set same = unknowns_.All();
    for (size_t k = from; k < to; ++k) {
      same = same & Eq(u_.args[k], v_.args[k]);
    }
    return same;
  }

  /// For x*c and y*c with 0 <= c: x + 1 <= y means x*c + c <= y*c.
  void Tiles(size_t common) {
    const PwAff& c = u_.args[common];
    const PwAff& x = u_.args[1 - common];
    for (size_t other : {size_t{0}, size_t{1}}) {
      const PwAff& d = v_.args[other];
      const PwAff& y = v_.args[1 - other];
      if (IsSubset(set_, Eq(c, d)) && IsSubset(set_, Le(unknowns_.Constant(0), c))) {
        Without(Lt(x, y) & Lt(v_value_, u_value_ + c));
        Without(Lt(y, x) & Lt(u_value_, v_value_ + c));
        return;
      }
    }
  }

  const Unknowns& unknowns_;
  const Term& u_;
  const Term& v_;
  PwAff u_value_;
  PwAff v_value_;
  Set& set_;
};

/// Whether anything is known of the two together.
bool AreAlike(const Term& u, const Term& v) {
  return u.kind == v.kind && u.tensor == v.tensor && u.args.size() == v.args.size() &&
         u.kind != Term::Kind::Any && (u.kind != Term::Kind::Element || u.stable);
}

/// Those of the terms of a set of which something is known together, arguments before what is made
/// of them.
std::vector<std::pair<const Term*, const Term*>> AlikeIn(const Unknowns& unknowns, const Set& set) {
  std::vector<const Term*> terms = unknowns.TermsIn(set);
  std::sort(terms.begin(), terms.end());
  std::vector<std::pair<const Term*, const Term*>> pairs;
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t j = i + 1; j < terms.size(); ++j) {
      if (AreAlike(*terms[i], *terms[j])) {
        pairs.emplace_back(terms[i], terms[j]);
      }
    }
  }
  return pairs;
}

}  // namespace

Set Unknowns::WithAxioms(Set set) const {
  if (AlikeIn(*this, Close(set)).empty()) {
    return set;
  }
  // Each piece by itself, as pieces may have come by different reads: nothing is known of the terms
  // of the others there, so each pair with one of those would only split it.
  Set left = set - set;
  for (const Set& piece : PartsOf(set)) {
    Set closed = Close(piece);
    std::set<std::pair<const Term*, const Term*>> known;
    auto take_new = [&] {
      std::vector<std::pair<const Term*, const Term*>> pairs = AlikeIn(*this, closed);
      std::erase_if(pairs, [&](const auto& pair) { return !known.insert(pair).second; });
      return pairs;
    };
    for (auto pairs = take_new(); !pairs.empty(); pairs = take_new()) {
      const size_t terms = TermsIn(closed).size();
      for (const auto& [u, v] : pairs) {
        Axioms(*this, *u, *v, closed).Distinct();
      }
      for (size_t i = 0; i < pairs.size() && !IsEmpty(closed); ++i) {
        Axioms(*this, *pairs[i].first, *pairs[i].second, closed).Rest();
      }
      if (TermsIn(closed).size() > terms) {  // with the indices of elements others came in
        closed = Close(closed);
      }
    }
    left = left | closed;
  }
  return Coalesce(left);
}

}  // namespace etc
