#include "analysis/proofs/permutations.h"

#include <algorithm>

namespace etc {

std::optional<size_t> PermutedCoordinate(Unknowns& unknowns, const ProgramCall& call,
                                         const Term& element, int instance) {
  if (element.kind != Term::Kind::Element || !element.stable || !element.distinct ||
      element.slice >= element.args.size()) {
    return std::nullopt;
  }
  std::string own = unknowns.VariableOf(element.args.back());
  std::vector<std::string> coordinates = TaskNames(call, instance);
  coordinates.erase(coordinates.begin(),
                    coordinates.begin() + static_cast<std::ptrdiff_t>(call.repeats.size()));
  auto found = std::find(coordinates.begin(), coordinates.end(), own);
  if (found == coordinates.end()) {
    return std::nullopt;
  }
  auto axis = static_cast<size_t>(found - coordinates.begin());
  std::string name = element.name;
  std::vector<std::string> before = IterationNames(call, instance);
  for (size_t i = 0; i + 1 < element.args.size(); ++i) {
    Set other = Eq(element.args[i], unknowns.Param("value@"));
    for (const std::string& variable : unknowns.Involved(other)) {
      const Term* term = unknowns.Find(variable);
      bool fixed = variable == "value@" || unknowns.IsDim(variable) ||
                   (term != nullptr && term->global) ||
                   std::find(before.begin(), before.end(), variable) != before.end();
      if (!fixed) {
        return std::nullopt;
      }
    }
  }
  // All terms are made before one is held on to, as new ones move them.
  TaskScope task(unknowns, call, instance);
  PwAff extent = task.converter.Int(call.axes[axis].hi);
  Set first = Ne(call.axes[axis].lo ? task.converter.Int(call.axes[axis].lo) : unknowns.Constant(0),
                 unknowns.Constant(0));
  std::vector<std::string> in_extent = unknowns.Involved(Eq(extent, unknowns.Param("value@")));
  bool fixed = std::all_of(in_extent.begin(), in_extent.end(), [&](const std::string& variable) {
    const Term* term = unknowns.Find(variable);
    return variable == "value@" || unknowns.IsDim(variable) || (term != nullptr && term->global);
  });
  PwAff value = unknowns.Param(name);
  Set outside = Lt(value, unknowns.Constant(0)) | Le(extent, value);
  bool permutes = fixed && IsEmpty(first & unknowns.GlobalFacts()) &&
                  IsEmpty(unknowns.Close(outside) & unknowns.GlobalFacts());
  return permutes ? std::optional(axis) : std::nullopt;
}

EdgeRelation WithoutPermutations(Unknowns& unknowns, EdgeRelation notify) {
  const ProgramCall& call = unknowns.program().calls[notify.call];
  std::vector<std::string> data;
  for (const Term* term : unknowns.TermsIn(notify.set)) {
    if (!term->global) {
      data.push_back(term->name);
    }
  }
  for (const std::string& name : data) {
    auto axis = PermutedCoordinate(unknowns, call, Term(*unknowns.Find(name)), 1);
    if (!axis) {
      continue;
    }
    std::string own = CoordinateName(*axis, 1);
    bool only = std::none_of(data.begin(), data.end(), [&](const std::string& other) {
      std::set<std::string> names;
      unknowns.AddNames(*unknowns.Find(other), names);
      return other != name && names.contains(own);
    });
    TaskScope task(unknowns, call, 1);
    PwAff coordinate = unknowns.Param(own);
    Set range = AxisRange(task.converter, call.axes[*axis], coordinate);
    Set rest = ProjectOut(notify.set, {own});
    if (only && IsSubset(rest & range, notify.set)) {
      notify.set = Coalesce(ProjectOut(rest & Eq(unknowns.Param(name), coordinate), {name}));
      notify.set = unknowns.Close(notify.set & range);
    }
  }
  if (!OnData(unknowns, notify.set)) {
    notify.certain = true;
    notify.exact = notify.exists;
  }
  return notify;
}

}  // namespace etc
