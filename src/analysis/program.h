// A graph or a kernel as the analysis sees it: calls in program order. All that asks which calls
// there are, what they wait for and what stands around them asks this one view.
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
  bool common = false;    // a wait that comes before the range of the tasks is read
  bool entering = false;  // a wait of a share that comes before its first task
};

/// A repeat around a call.
struct EnclosingRepeat {
  NodeId node;
  SymbolId var;
  Interval iterations;  // at some size, both included; empty when hi < lo
  ExprId lo;            // as the text has them, over constants and dims; `hi` is not included
  ExprId hi;
  bool fixed = true;  // the same iterations at all sizes
};

/// A call of a graph, or a share of a kernel. Its tasks are (iterations, coordinates): one
/// iteration for each repeat around it. Of two tasks that stands first in program order whose
/// iterations of the repeats around both are first in lexicographic order, or else whose call is.
struct ProgramCall {
  size_t index = 0;     // in program order
  NodeId node;          // the call or the share
  NodeId dispatch;      // of which it is a case, or an absent id
  bool pushed = false;  // its tasks come to the queue by a trigger
  size_t segment = 0;   // calls of one outermost repeat have one segment, any other call its own
  DeviceId callee;
  const Device* device = nullptr;  // the callee
  std::vector<Axis> axes;
  std::vector<SymbolId> task_symbols;  // what the device's body calls them
  std::vector<Argument> args;
  std::vector<ExprId> scalars;
  std::vector<TaskEdge> waits;
  std::vector<TaskEdge> notifies;
  // Of a case of a queue, not in a program of pushes: what whoever is given a task waits for before
  // it reads where the task arrives, and these arrivals.
  std::vector<TaskEdge> after_waits;
  std::vector<TaskEdge> after_arrivals;
  bool arriving = false;  // who is given the tasks of the call in front, and arrives for them
  std::vector<EnclosingRepeat> repeats;  // the outermost first
  SourceRange range;
  SourceRange statement;  // of the outermost repeat or region around it, else its own

  /// The innermost repeat around it, or an absent id.
  NodeId Innermost() const { return repeats.empty() ? NodeId() : repeats.back().node; }
};

/// A call, or one end of a repeat.
struct ProgramMark {
  enum class Kind { Call, Enter, Leave } kind;
  size_t other;  // Call: its index. Enter, Leave: the position of the other mark.
  SymbolId var;  // Enter
  ExprId lo;
  ExprId hi;
};

struct CallProgram {
  std::string name;
  SourceRange range;  // of the name
  std::vector<TensorId> params;
  std::vector<ProgramCall> calls;
  std::vector<ProgramMark> order;  // of calls and repeats
  bool scheduled = false;          // a kernel
  std::vector<EventId> events;
  DimRanges ranges;       // of the specialisation or of the kernel's `where`
  Env sizes = {};         // of all dimensions, where it is looked at at these sizes only
  bool flagged = false;   // a buffer's words say by themselves whether they are written
  bool launches = false;  // each call is a launch, which follows all before it
  bool open = false;      // a repeat has bounds of no known range, which the verifier rejects
  bool of_ranks = false;  // of all ranks: the first coordinate of a task is its rank
};

/// What the call binds to the parameter of its device function; null where that has no such one.
const Argument* ArgumentOf(const ProgramCall& call, TensorId param);

/// Whether the call may have tasks at the sizes that the program is for.
bool MayHaveTasks(const Module& module, const CallProgram& program, const ProgramCall& call);

/// How many repeats are around both calls.
size_t CommonRepeats(const ProgramCall& a, const ProgramCall& b);

/// The graph at all of its sizes.
CallProgram MakeCallProgram(const Module& module, const Graph& graph);
/// One program for each range of a specialisation.
std::vector<CallProgram> MakeCallPrograms(const Module& module, const Graph& graph);
CallProgram MakeCallProgram(const Module& module, const Kernel& kernel);
/// The same of what SMs are given, not of what is done: a task that is pushed waits for its
/// trigger, and whatever arrives there notifies it. `events` are the triggers.
CallProgram MakePushProgram(const Module& module, const Kernel& kernel);
/// The kernel with one more call behind each that has arrivals under `after`, with the same tasks:
/// it stands for who is given these. It touches no tensor but those that say where it arrives, and
/// waits for nothing else than it says under `after`.
CallProgram MakeArrivalProgram(const Module& module, const Kernel& kernel);

}  // namespace etc
