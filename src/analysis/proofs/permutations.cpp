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

std::optional<FlatCoordinate> FlatCoordinateOf(Unknowns& unknowns, const ProgramCall& call,
                                               const Term& quotient, int instance) {
  if (quotient.kind != Term::Kind::Quotient) {
    return std::nullopt;
  }
  std::string own = unknowns.VariableOf(quotient.args[0]);
  size_t axis = 0;
  while (axis < call.axes.size() && CoordinateName(axis, instance) != own) {
    ++axis;
  }
  PwAff size = quotient.args[1];
  if (axis == call.axes.size() || call.axes[axis].lo ||
      !IsEmpty(unknowns.sizes() & Lt(size, unknowns.Constant(1)))) {
    return std::nullopt;
  }
  TaskScope task(unknowns, call, instance);
  PwAff extent = task.converter.Int(call.axes[axis].hi);
  for (const Term& term : unknowns.terms()) {
    bool is_extent =
        term.kind == Term::Kind::Product && term.global &&
        isl_pw_aff_plain_is_equal(extent.get(), unknowns.Param(term.name).get()) == isl_bool_true;
    for (size_t side = 0; is_extent && side < 2; ++side) {
      if (isl_pw_aff_plain_is_equal(term.args[side].get(), size.get()) == isl_bool_true) {
        return FlatCoordinate{axis, term.args[1 - side], size};
      }
    }
  }
  // A constant number of rows: as many as there are of the smallest size.
  auto least = unknowns.BoundsOf(size).lo;
  Set smallest = least ? unknowns.sizes() & Eq(size, unknowns.Constant(*least)) : Set();
  auto largest = least ? LargestOn(smallest, extent, unknowns) : std::nullopt;
  if (!largest) {
    return std::nullopt;
  }
  PwAff rows = unknowns.Constant(*largest / *least);
  bool exact = IsEmpty(unknowns.sizes() & Ne(extent, rows * size));
  return exact ? std::optional(FlatCoordinate{axis, rows, size}) : std::nullopt;
}

namespace {

/// Whether the coordinate occurs in no data but the term itself.
bool OccursOnlyIn(const Unknowns& unknowns, const std::vector<std::string>& data,
                  const std::string& term, const std::string& coordinate) {
  return std::none_of(data.begin(), data.end(), [&](const std::string& other) {
    std::set<std::string> names;
    unknowns.AddNames(*unknowns.Find(other), names);
    return other != term && names.contains(coordinate);
  });
}

/// Gives a coordinate the values 0 .. `extent` of the term that stands for it, if the notify says
/// nothing else of it.
bool Replace(const Unknowns& unknowns, const ProgramCall& call, EdgeRelation& notify,
             const std::string& name, size_t axis, const PwAff& extent, const Set& range) {
  std::string own = CoordinateName(axis, 1);
  Set rest = ProjectOut(notify.set, {own});
  if (!IsSubset(unknowns.Close(rest & range), notify.set) || call.axes[axis].lo) {
    return false;
  }
  PwAff coordinate = unknowns.Param(own);
  Set values = Le(unknowns.Constant(0), coordinate) & Lt(coordinate, extent);
  notify.set = Coalesce(ProjectOut(rest & Eq(unknowns.Param(name), coordinate), {name})) & values;
  return true;
}

}  // namespace

EdgeRelation InPlainCoordinates(Unknowns& unknowns, EdgeRelation notify) {
  const ProgramCall& call = unknowns.program().calls[notify.call];
  std::vector<std::string> data;
  for (const Term* term : unknowns.TermsIn(notify.set)) {
    if (!term->global) {
      data.push_back(term->name);
    }
  }
  for (const std::string& name : data) {
    Term term = *unknowns.Find(name);
    TaskScope task(unknowns, call, 1);
    auto range_of = [&](size_t axis) {
      return AxisRange(task.converter, call.axes[axis], unknowns.Param(CoordinateName(axis, 1)));
    };
    auto only = [&](size_t axis) {
      return OccursOnlyIn(unknowns, data, name, CoordinateName(axis, 1));
    };
    if (auto axis = PermutedCoordinate(unknowns, call, term, 1); axis && only(*axis)) {
      PwAff extent = task.converter.Int(call.axes[*axis].hi);
      Replace(unknowns, call, notify, name, *axis, extent, range_of(*axis));
    } else if (auto flat = FlatCoordinateOf(unknowns, call, term, 1); flat && only(flat->axis)) {
      Set range = range_of(flat->axis);
      if (Replace(unknowns, call, notify, name, flat->axis, flat->rows, range)) {
        notify.variables.push_back(unknowns.Fresh("place"));
        PwAff place = unknowns.Param(notify.variables.back());
        notify.set = notify.set & Le(unknowns.Constant(0), place) & Lt(place, flat->size);
      }
    }
  }
  notify.set = unknowns.Close(notify.set);
  if (notify.whole && !OnData(unknowns, notify.set)) {
    notify.certain = true;
    notify.exact = notify.exists;
  }
  return notify;
}

}  // namespace etc
