// What the tasks of a call read and write, from the body of its device function.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/convert.h"

namespace etc {

/// Names of the parameters that identify a task. Two tasks of one relation are instances 1 and 2.
/// Repeat 0 is the outermost around the call.
std::string IterationName(size_t repeat, int instance);
std::vector<std::string> IterationNames(const ProgramCall& call, int instance);
std::string CoordinateName(size_t axis, int instance);
/// The iterations, the outermost first, then the coordinates.
std::vector<std::string> TaskNames(const ProgramCall& call, int instance);
/// Name of an index of an element of a tensor or an event.
std::string ElementName(size_t axis);
std::vector<std::string> ElementNames(size_t rank);

/// Pairs of tasks 1 and 2 that are in one iteration of each of the outermost `repeats` repeats,
/// which are around both.
Set InOneIteration(const Unknowns& unknowns, size_t repeats);
/// Those of which task 2 is in a later iteration of the repeat inside of these.
Set InLaterIteration(const Unknowns& unknowns, size_t repeats);

/// The set without these parameters: for some value of each.
Set ProjectOut(Set set, const std::vector<std::string>& names);

/// Elements of a tensor of the program that tasks may read or write: a set over the task and the
/// element. Not exact: it holds more than is accessed, and terms that depend on the task alone.
struct AccessRegion {
  TensorId tensor;
  bool write = false;
  bool ahead = false;  // read by a loader ahead of every wait: verified to meet no write at all
  bool exact = true;
  bool possible = true;           // the caller may choose the data so that any of it is accessed
  bool of_any_iteration = false;  // by the choice of an element that is not named in the set
  Set set;
};

/// An index of an access, for the proof that it is in bounds.
struct IndexUse {
  TensorId tensor;  // as the body names it
  size_t axis;
  ExprId index;
  PwAff value;
  PwAff extent;
  const Set* scope;  // where the access happens
  bool exact;        // of `scope`
};

/// What an index of a wait or notify names: the elements lo .. hi of an axis.
struct ElementRange {
  ElementRange(Converter& converter, const EventIndex& index, const EventDim& dim);

  PwAff extent;
  PwAff lo;
  PwAff hi;  // not included
};

/// A task of a call: its coordinates bound, and where they lie.
struct TaskScope {
  TaskScope(Unknowns& unknowns, const ProgramCall& call, int instance);

  Converter converter;
  Set domain;
  std::vector<Set> outer;  // for each axis, the domain of those before it
  bool exact = true;       // the domain does not depend on data
};

/// What the tasks of each call access of the tensors that any call writes.
struct ProgramAccesses {
  std::vector<std::vector<AccessRegion>> first;   // of task 1
  std::vector<std::vector<AccessRegion>> second;  // of task 2
};

/// `on_index` sees each index of each access of task 1, if it is given.
ProgramAccesses AccessesOf(
    Unknowns& unknowns,
    const std::function<void(const ProgramCall&, const IndexUse&)>& on_index = {});

}  // namespace etc
