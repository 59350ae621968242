// The tasks of a call as sets: the names of their parameters, and where these lie.
#pragma once

#include <string>
#include <vector>

#include "analysis/sets/convert.h"

namespace etc {

/// Names of the parameters that identify a task. Two tasks of one relation are instances 1 and 2.
/// Repeat 0 is the outermost around the call.
std::string IterationName(size_t repeat, int instance);
std::vector<std::string> IterationNames(const ProgramCall& call, int instance);
std::string CoordinateName(size_t axis, int instance);
/// What the terms of a task belong to.
std::string ScopeName(const ProgramCall& call, int instance);
/// The iterations, the outermost first, then the coordinates.
std::vector<std::string> TaskNames(const ProgramCall& call, int instance);
/// Name of an index of an element of a tensor or an event.
std::string ElementName(size_t axis);
std::vector<std::string> ElementNames(size_t rank);

/// The first and the last iteration of a repeat.
PwAff FirstIteration(Unknowns& unknowns, const EnclosingRepeat& repeat);
PwAff LastIteration(Unknowns& unknowns, const EnclosingRepeat& repeat);

/// Binds the variables of the repeats around a call, and gives the iterations.
Set BindIterations(Converter& converter, const ProgramCall& call, int instance);

/// Pairs of tasks 1 and 2 that are in one iteration of each of the outermost `repeats` repeats,
/// which are around both.
Set InOneIteration(const Unknowns& unknowns, size_t repeats);
/// Those of which task 2 is in a later iteration of the repeat inside of these.
Set InLaterIteration(const Unknowns& unknowns, size_t repeats);

/// The set without these parameters: for some value of each.
Set ProjectOut(Set set, const std::vector<std::string>& names);

/// The set over sizes and these names, for some value of all else.
Set OverSizes(const Unknowns& unknowns, const Set& set, const std::vector<std::string>& names);

/// Whether the set depends on data: then it is larger than what happens in any one launch.
bool OnData(const Unknowns& unknowns, const Set& set);

/// The points of an axis.
Set AxisRange(Converter& converter, const Axis& axis, const PwAff& variable);

/// What an index of a wait or notify names: the elements lo .. hi of an axis.
struct ElementRange {
  ElementRange(Converter& converter, const EventIndex& index, const EventDim& dim);

  PwAff extent;
  PwAff lo;
  PwAff hi;  // not included
};

/// A task of a call: its coordinates bound, and where they lie.
struct TaskScope {
  /// What was made once is remembered. What is known of the names of the task holds from here on.
  TaskScope(Unknowns& unknowns, const ProgramCall& call, int instance)
      : TaskScope(Enter(unknowns, call, instance)) {}

  Converter converter;
  Set domain;
  std::vector<Set> outer;  // for each axis, the domain of those before it
  bool exact = true;       // the domain does not depend on data

 private:
  static TaskScope Enter(Unknowns& unknowns, const ProgramCall& call, int instance);
  explicit TaskScope(Unknowns& unknowns) : converter(unknowns) {}
  void Make(const ProgramCall& call, int instance);

  std::vector<std::pair<std::string, Set>> facts_;  // about the names of the task
};

}  // namespace etc
