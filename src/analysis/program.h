// A graph or a kernel as the analysis sees it: calls in program order.
#pragma once

#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/module.h"

namespace etc {

/// A wait or a notify, with the names it uses for its task's coordinates.
struct TaskEdge {
  const EventRef* ref;
  std::vector<SymbolId> coords;
  SourceRange range;
  bool common = false;  // a wait that comes before the range of the tasks is read
};

/// A call of a graph, or a share of a kernel. Its tasks are (iteration, coordinates); outside of a
/// repeat the iteration is 0.
struct ProgramCall {
  size_t index = 0;    // in program order
  NodeId node;         // the call or the share
  size_t segment = 0;  // calls of one repeat have one segment, any other call its own
  const Device* device = nullptr;
  std::vector<Axis> axes;
  std::vector<SymbolId> task_symbols;  // what the device's body calls them
  std::vector<Argument> args;
  std::vector<TaskEdge> waits;
  std::vector<TaskEdge> notifies;
  SymbolId repeat_var;       // absent outside of a repeat
  Interval repeat = {0, 0};  // both included; empty when hi < lo
  ExprId repeat_lo;          // as the text has them; `hi` is not included
  ExprId repeat_hi;
  SourceRange range;
  SourceRange statement;  // of the outermost repeat or region around it, else its own
};

struct CallProgram {
  std::string name;
  SourceRange range;  // of the name
  std::vector<TensorId> params;
  std::vector<ProgramCall> calls;
  bool scheduled = false;  // a kernel
  std::vector<EventId> events;
  DimRanges ranges;       // of the specialisation or of the kernel's `where`
  bool tagged = false;    // a buffer's words say by themselves whether they are written
  bool launches = false;  // each call is a launch, which follows all before it
  bool nested = false;    // a repeat inside a repeat, which no proof covers
};

/// The graph at all of its sizes.
CallProgram MakeCallProgram(const Module& module, const Graph& graph);
/// One program for each range of a specialisation.
std::vector<CallProgram> MakeCallPrograms(const Module& module, const Graph& graph);
CallProgram MakeCallProgram(const Module& module, const Kernel& kernel);

}  // namespace etc
