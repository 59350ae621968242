// Which tasks notify and wait for which elements of events.
#pragma once

#include <string>
#include <vector>

#include "analysis/regions.h"

namespace etc {

/// One wait or notify of a call: a set over its task, the variables of its `for`, and the element.
struct EdgeRelation {
  size_t call;
  const TaskEdge* edge;
  const EventRef* ref;                 // of the edge
  std::vector<std::string> variables;  // of the `for`
  Set set;
  Map elements;         // from the task to the elements
  bool exact = true;    // no data decides whether and for what it happens
  bool certain = true;  // nor does it for a task that exists
  bool exists = true;   // no data decides whether the task does
  bool whole = true;  // it happens for all of the set, not for what a guard leaves that no set has
  struct Index {
    PwAff lo;
    PwAff last;
    PwAff extent;
  };
  std::vector<Index> indices;
  Set scope;  // where it happens, before any index is looked at
};

struct EventRelations {
  std::vector<EdgeRelation> waits;
  std::vector<EdgeRelation> notifies;
};

EventRelations MakeEventRelations(Unknowns& unknowns);
/// The same with those that are known already, by their references.
EventRelations MakeEventRelations(Unknowns& unknowns, EventRelations known);

}  // namespace etc
