// What is known of the parameters of a set, each by itself.
#include <algorithm>
#include <limits>

#include "analysis/sets/unknowns.h"

namespace etc {

Set Unknowns::Close(const Set& set) const { return Close(set, false); }

Set Unknowns::CloseOver(const Set& set, const std::vector<std::string>& names) const {
  std::vector<Set> parts{set};
  for (const std::string& name : names) {
    parts.push_back(FactsAbout(name));
  }
  return Close(Join(parts));
}

Set Unknowns::CloseVariables(const Set& set) const { return Close(set, true); }

Set Unknowns::Close(const Set& set, bool variables) const {
  // What facts are about is known before they are joined to the set, which has many parts at times.
  std::vector<std::string> ahead = Involved(set);
  std::set<std::string> seen;
  std::vector<std::string> known;
  for (size_t i = 0; i < ahead.size(); ++i) {
    std::string name = ahead[i];
    auto facts = facts_.find(name);
    if (facts != facts_.end() && (variables || Find(name)) && seen.insert(name).second) {
      std::vector<std::string> more = Involved(facts->second);
      ahead.insert(ahead.end(), more.begin(), more.end());
      known.push_back(std::move(name));
    }
  }
  return set & FactsOf(known);
}

/// And the sizes' ranges.
const Set& Unknowns::FactsOf(const std::vector<std::string>& names) const {
  auto [known, fresh] = joined_.try_emplace(names, sizes_);
  if (fresh || !known->second) {  // or the budget was spent
    std::vector<Set> parts{sizes_};
    for (const std::string& name : names) {
      parts.push_back(facts_.at(name));
    }
    known->second = Join(parts);
  }
  return known->second;
}

void Unknowns::SetFacts(const std::string& name, Set facts) {
  auto [known, fresh] = facts_.try_emplace(name, facts);
  if (fresh || IsPlainlyEqual(known->second, facts)) {
    return;
  }
  known->second = std::move(facts);
  std::erase_if(joined_, [&](const auto& joined) {
    return std::find(joined.first.begin(), joined.first.end(), name) != joined.first.end();
  });
}

Set Unknowns::GlobalFacts() const {
  Set facts = sizes_;
  for (const Term& term : terms_) {
    if (term.global) {
      facts = facts & facts_.at(term.name);
    }
  }
  return facts;
}

/// Of the quotient of `a` by a size: below `n` where `a` is below `n` times the size, and no less
/// where it is no less.
Set Unknowns::BelowFacts(const PwAff& quotient, const PwAff& a, const PwAff& b) const {
  Set facts = All();
  auto compare = [&](const PwAff& product, const PwAff& n) {
    if (IsEmpty(CloseVariables(Le(product, a)))) {
      facts = facts & Lt(quotient, n);
    } else if (IsEmpty(CloseVariables(Lt(a, product)))) {
      facts = facts & Le(n, quotient);
    }
  };
  for (const Term& term : terms_) {
    for (size_t side : {size_t{0}, size_t{1}}) {
      if (term.kind == Term::Kind::Product &&
          isl_pw_aff_plain_is_equal(term.args[side].get(), b.get()) == isl_bool_true) {
        compare(Param(term.name), term.args[1 - side]);
      }
    }
  }
  // Of a constant number of the size, the number shows where that is small.
  Bounds size = BoundsOf(b);
  Set smallest = CloseVariables(Eq(b, Constant(*size.lo)) & Le(Constant(0), a));
  auto most = LargestOn(smallest, a, *this);
  if (most && *most < std::numeric_limits<int32_t>::max()) {
    PwAff n = Constant(*most / *size.lo + 1);
    compare(n * b, n);
  }
  return facts;
}

std::optional<int64_t> LargestOn(const Set& set, const PwAff& value, const Unknowns& unknowns) {
  Set values = set & Eq(unknowns.Param("value@"), value);
  int position = isl_set_find_dim_by_name(values.get(), isl_dim_param, "value@");
  if (position < 0) {
    return std::nullopt;
  }
  Set line(isl_set_from_params(values.copy()));
  line = Set(isl_set_move_dims(line.copy(), isl_dim_set, 0, isl_dim_param,
                               static_cast<unsigned>(position), 1));
  isl_size count = isl_set_dim(line.get(), isl_dim_param);
  line = Set(isl_set_project_out(line.copy(), isl_dim_param, 0, static_cast<unsigned>(count)));
  return ToInt(Val(isl_set_dim_max_val(line.copy(), 0)));
}

}  // namespace etc
