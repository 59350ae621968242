#include "analysis/proofs/between.h"

#include <algorithm>

namespace etc {

Set Between::WithoutOthers(const Dependence& d, const AccessRegion& a, const AccessRegion& b,
                           const Set& conflicts) {
  std::vector<std::pair<Set, bool>> times{{unknowns_.All(), false}};
  if (d.carried) {
    PwAff next = unknowns_.Param(IterationName(d.repeats, 1)) + unknowns_.Constant(1);
    PwAff later = unknowns_.Param(IterationName(d.repeats, 2));
    times = {{Eq(next, later), false}, {Lt(next, later), true}};
  }
  Part part{0, a.tensor, a.write && b.write, 1, false, d.Related(), d.Related()};
  std::vector<Case> from_cases = CasesOf(calls_[d.from], d.Related(), 1);
  std::vector<Case> to_cases = CasesOf(calls_[d.to], d.Related(), 2);
  Set open = conflicts - conflicts;
  bool all = true;
  for (const auto& [time, far] : times) {
    for (const Case& from : from_cases) {
      for (const Case& to : to_cases) {
        Set some = conflicts & time & from.where & to.where;
        if (IsEmpty(some)) {
          continue;
        }
        if (AreCovered(d, PartsBetween(d, from, to, far, part), some)) {
          all = false;
        } else {
          open = open | some;
        }
      }
    }
  }
  return all ? conflicts : Coalesce(open);
}

bool Between::AllFollow(const Dependence& d, const AccessRegion& a, const AccessRegion& b) {
  const ProgramCall& to = calls_[d.to];
  if (d.carried || to.repeats.size() > d.repeats || calls_[d.from].repeats.size() > d.repeats) {
    return false;
  }
  auto [known, fresh] = elements_.try_emplace(&b);
  if (fresh) {
    std::vector<std::string> names = TaskNames(to, 2);
    names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(d.repeats));
    known->second = Coalesce(ProjectOut(b.set, names));
  }
  for (size_t k = d.to; k-- > d.from + 1;) {
    if (calls_[k].repeats.size() != d.repeats) {
      continue;
    }
    Part part{k, a.tensor, a.write && b.write, 2, false, d.repeats, d.repeats};
    auto [covers, first] = covers_.try_emplace({part, &b}, false);
    if (first) {
      const Set& touched = Touched(part);
      covers->second =
          !IsEmpty(touched) && IsSubset(known->second & unknowns_.GlobalFacts(), touched);
    }
    if (covers->second) {
      return true;
    }
  }
  return false;
}

std::vector<Between::Case> Between::CasesOf(const ProgramCall& call, size_t free,
                                            int instance) const {
  std::vector<Case> cases;
  Set before = unknowns_.All();
  for (size_t i = free; i < call.repeats.size(); ++i) {
    const Interval& iterations = call.repeats[i].iterations;
    PwAff end = unknowns_.Constant(instance == 1 ? iterations.hi : iterations.lo);
    PwAff own = unknowns_.Param(IterationName(i, instance));
    cases.push_back({before & Ne(own, end), i});
    before = before & Eq(own, end);
  }
  cases.push_back({before, call.repeats.size()});
  return cases;
}

/// The tasks of `part.call` behind task 1 or before task 2 of `call`, in one iteration of the free
/// repeats.
void Between::AddParts(const ProgramCall& call, const Case& task, Part part,
                       std::vector<Part>& parts) const {
  size_t common = CommonRepeats(calls_[part.call], call);
  bool stands = part.instance == 1 ? part.call > call.index : part.call < call.index;
  if (stands) {
    part.fixed = std::max(common, part.free);
    parts.push_back(part);
  } else if (task.depth < common) {
    part.fixed = task.depth + 1;
    parts.push_back(part);
  }
}

std::vector<Between::Part> Between::PartsBetween(const Dependence& d, const Case& from,
                                                 const Case& to, bool far, Part part) const {
  std::vector<Part> parts;
  for (size_t k = calls_.size(); k-- > 0;) {
    part.call = k;
    size_t with_from = CommonRepeats(calls_[k], calls_[d.from]);
    size_t with_to = CommonRepeats(calls_[k], calls_[d.to]);
    if (with_from < part.free || with_to < part.free) {
      continue;
    }
    // Of a repeat around `to` alone, some iterations come behind task 2, and so with `from`.
    bool before_to = d.carried || with_from > part.free || (k < d.to && with_to == part.free);
    bool behind_from = d.carried || with_to > part.free || (k > d.from && with_from == part.free);
    part.instance = 1;
    if (before_to) {
      AddParts(calls_[d.from], from, part, parts);
    }
    if (far) {
      part.next = true;
      parts.push_back(part);
      part.next = false;
    }
    part.instance = 2;
    if (behind_from) {
      AddParts(calls_[d.to], to, part, parts);
    }
  }
  return parts;
}

bool Between::AreCovered(const Dependence& d, const std::vector<Part>& parts,
                         const Set& conflicts) {
  if (parts.empty()) {
    return false;
  }
  std::vector<std::string> names = ElementNamesOf(unknowns_, parts.front().tensor);
  for (size_t i = 0; i < d.Related(); ++i) {
    names.push_back(IterationName(i, 1));
    names.push_back(IterationName(i, 2));
  }
  std::vector<std::string> others;
  for (const std::string& name : unknowns_.Involved(conflicts)) {
    const Term* term = unknowns_.Find(name);
    bool is_size = unknowns_.IsDim(name) || (term != nullptr && term->global);
    if (!is_size && std::find(names.begin(), names.end(), name) == names.end()) {
      others.push_back(name);
    }
  }
  Set elements = Coalesce(ProjectOut(conflicts, others));
  Set all = elements - elements;
  for (const Part& part : parts) {
    const Set& touched = Touched(part);
    if (IsSubset(elements, touched)) {
      return true;
    }
    all = all | touched;
  }
  return parts.size() > 1 && IsSubset(elements, Coalesce(all));
}

/// The elements, with the iterations of the free repeats.
const Set& Between::Touched(const Part& part) {
  auto [known, fresh] = touched_.try_emplace(part);
  Set& touched = known->second;
  if (!fresh) {
    return touched;
  }
  const ProgramCall& call = calls_[part.call];
  touched = unknowns_.All() - unknowns_.All();
  std::vector<std::string> names = TaskNames(call, part.instance);
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(part.free));
  const auto& accesses = part.instance == 1 ? accesses_.first : accesses_.second;
  for (const AccessRegion& region : accesses[part.call]) {
    if (region.tensor != part.tensor || !region.exact || region.ahead ||
        !(region.write || part.reads)) {
      continue;
    }
    Set set = region.set;
    for (size_t i = part.free; i < part.fixed; ++i) {
      const Interval& iterations = call.repeats[i].iterations;
      PwAff end = unknowns_.Constant(part.instance == 1 ? iterations.hi : iterations.lo);
      set = set & Eq(unknowns_.Param(IterationName(i, part.instance)), end);
    }
    touched = touched | ProjectOut(set, names);
  }
  if (part.next) {
    std::string iteration = IterationName(part.free - 1, part.instance);
    PwAff next = unknowns_.Param("next@");
    touched = ProjectOut(touched & Eq(unknowns_.Param(iteration), next), {iteration});
    touched = ProjectOut(touched & Eq(next, unknowns_.Param(iteration) + unknowns_.Constant(1)),
                         {"next@"});
  }
  touched = Coalesce(touched);
  return touched;
}

}  // namespace etc
