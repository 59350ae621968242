// Makes a kernel of a graph: what the schedules have in common.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/evaluate.h"
#include "ir/fold.h"
#include "ir/rewrite.h"
#include "schedule/passes.h"

namespace etc {

/// Tensors, events and repeat variables of a graph become the kernel's own.
class KernelBuilder {
 public:
  KernelBuilder(Module& module, const Graph& graph, const ScheduleOptions& options,
                Diagnostics& diagnostics)
      : module_(module),
        graph_(graph),
        options_(options),
        diagnostics_(diagnostics),
        folder_(module, RangesOf(module, graph.where)) {}

 protected:
  /// The kernel with its parameters, and nothing in it yet.
  Kernel Begin();

  NodeId CopyBuffer(const BufferDecl& buffer, SourceRange range);
  NodeId CopyEvent(const EventDecl& event, SourceRange range);
  /// Declares a trigger, which no graph has.
  EventId AddTrigger(Event trigger, std::vector<NodeId>& declarations);
  /// The repeat without its body; its variable is the kernel's from now on.
  Repeat CopyHead(const Repeat& repeat);
  /// The share of all tasks of a call, without events and without a first SM.
  Share CopyCall(const CallNode& call);
  EventRef CopyRef(const EventRef& ref, const Substitution& symbols);
  /// The tensor of the graph that the kernel's is a copy of.
  TensorId OriginalOf(TensorId mine) const {
    auto is_mine = [&](const auto& copied) { return copied.second.tensor == mine; };
    return std::find_if(tensors_.begin(), tensors_.end(), is_mine)->first;
  }
  /// The kernel's copy of an event of the graph.
  EventId CopyOf(EventId event) const { return events_.at(event); }

  /// The number of tasks, or where the range of one axis depends on another, what it does not
  /// exceed; 0 where a range is read from a tensor, as it is known too late to place the shares
  /// behind it.
  ExprId CountOf(const CallNode& call);

  Module& module_;
  const Graph& graph_;
  const ScheduleOptions& options_;
  Diagnostics& diagnostics_;
  Substitution symbols_;  // repeat variables of the graph to those of the kernel

 private:
  TensorId CopyTensor(TensorId id);
  /// The task range of a device function, over the arguments in the place of its parameters.
  std::vector<Axis> CopyAxes(const Device& device, const std::vector<Argument>& args);

  Folder folder_;  // for the range of the graph
  TensorSubstitution tensors_;
  std::map<EventId, EventId> events_;
  std::set<std::string> names_;
};

/// Takes out the waits that can come before the first task (`IsCommonWait`).
std::vector<EventRef> TakeCommonWaits(const Module& module, std::vector<EventRef>& waits,
                                      const std::vector<SymbolId>& coords);

/// Whether all calls of the graph are to be launches of their own.
bool IsForLaunches(const Module& module, const Graph& graph, const ScheduleOptions& options);

/// Whether the schedule that was asked for is one of a program with a mesh, if it is one; else an
/// error says why not.
bool AskedFitsMesh(const Module& module, const ScheduleOptions& options, Diagnostics& diagnostics);

/// Replaces each graph that `takes` by the kernel that `lower` makes of it; a graph of several
/// ranges is an error. False when `lower` made nothing, and reported why.
bool ReplaceGraphs(Module& module, const std::function<bool(const Graph&)>& takes,
                   const std::function<std::optional<Kernel>(const Graph&)>& lower,
                   Diagnostics& diagnostics);

}  // namespace etc
