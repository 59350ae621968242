// A graph or a kernel as the event checks see it: steps of tasks that wait and notify, in order.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"

namespace etc {

/// A reference together with the names it uses for its task's coordinates.
struct TaskRef {
  const EventRef* ref;
  std::vector<SymbolId> coords;  // as many as the step has axes
  SourceRange range;
};

/// A call or a share.
struct Step {
  std::string callee;
  std::vector<Axis> axes;
  std::vector<TaskRef> waits;
  std::vector<TaskRef> notifies;
  SourceRange range;
};

/// The program in order; a repeat is a pair of marks around its body.
struct EventProgram {
  struct Mark {
    enum class Kind { Step, Enter, Leave } kind;
    size_t other = 0;  // Step: its index in `steps`. Enter, Leave: the position of the other mark.
    SymbolId var;      // Enter
    ExprId lo;
    ExprId hi;
  };
  std::vector<Step> steps;
  std::vector<Mark> order;
  std::vector<EventId> events;
};

EventProgram MakeEventProgram(const Module& module, const Graph& graph);
EventProgram MakeEventProgram(const Module& module, const Kernel& kernel);

}  // namespace etc
