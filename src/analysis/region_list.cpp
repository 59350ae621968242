#include "analysis/region_list.h"

#include <algorithm>
#include <set>

namespace etc {

Set ElementsAt(Unknowns& unknowns, TensorId tensor, const std::vector<PwAff>& indices, Set scope) {
  std::vector<PwAff> element = ElementAt(unknowns, tensor, indices, scope);
  std::vector<Set> parts{std::move(scope)};
  for (size_t i = 0; i < element.size(); ++i) {
    parts.push_back(Eq(unknowns.Param(ElementName(i)), element[i]));
  }
  return Join(parts);
}

void RegionList::Add(const Access& access, const Set& touched) {
  std::vector<std::string> keep = keep_;
  for (std::string& name : ElementNamesOf(unknowns_, access.tensor)) {
    keep.push_back(std::move(name));
  }
  Set set = unknowns_.Close(touched);
  bool exact = access.exact && !OnData(unknowns_, set);
  bool possible = access.exact;
  size_t elements = 0;  // of index tensors that the set is about
  bool of_any_iteration = false;
  for (const Term* term : unknowns_.TermsIn(set)) {
    if (!term->global) {
      possible = possible && term->promised;
      ++elements;
      of_any_iteration = of_any_iteration || !unknowns_.DependsOnlyOn(term->name, keep);
    }
  }
  possible = possible && (!of_any_iteration || elements == 1);
  set = CoalesceQuickly(ProjectOut(set, Locals(set, keep)));
  for (AccessRegion& region : regions_) {
    if (region.tensor == access.tensor && region.write == access.write &&
        region.ahead == access.ahead && region.exact == exact && region.possible == possible &&
        region.of_any_iteration == of_any_iteration) {
      if (!IsPlainlyEqual(set, region.set) && !IsSubset(set, region.set)) {
        region.set = Coalesce(region.set | set);
      }
      return;
    }
  }
  regions_.push_back(
      {access.tensor, access.write, access.ahead, exact, possible, of_any_iteration, set});
}

/// The loop variables in the set, and the terms that depend on them. Elements of distinct tensors
/// and those related to others stay, with the variables that they depend on: what is known of two
/// of them needs both.
std::vector<std::string> RegionList::Locals(const Set& set,
                                            const std::vector<std::string>& keep) const {
  std::set<std::string> known;
  for (const Term* term : unknowns_.TermsIn(set)) {
    if (term->distinct || term->related) {
      unknowns_.AddNames(*term, known);
    }
  }
  std::vector<std::string> locals;
  for (const std::string& name : unknowns_.Involved(set)) {
    bool kept = known.contains(name) || std::find(keep.begin(), keep.end(), name) != keep.end();
    if (!kept && !unknowns_.IsDim(name) && !unknowns_.DependsOnlyOn(name, keep)) {
      locals.push_back(name);
    }
  }
  return locals;
}

}  // namespace etc
