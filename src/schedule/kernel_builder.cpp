#include "schedule/kernel_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/most_tasks.h"
#include "ir/peers.h"
#include "ir/schedules.h"
#include "ir/task_count.h"
#include "ir/walk.h"
#include "support/unique_name.h"

namespace etc {

Kernel KernelBuilder::Begin() {
  Kernel kernel;
  kernel.name = graph_.name;
  kernel.graph = SourceName(graph_);
  kernel.consumer_warps = options_.consumer_warps;
  kernel.range = graph_.range;
  kernel.where = graph_.where;
  for (TensorId param : graph_.params) {
    kernel.params.push_back(CopyTensor(param));
  }
  return kernel;
}

TensorId KernelBuilder::CopyTensor(TensorId id) {
  Tensor copy = module_.tensors[id];
  copy.name = UniqueName(copy.name, names_);
  Substitution names = CopyIndices(module_, copy.indices);
  copy.value_lo = Clone(module_, copy.value_lo, names, tensors_);
  copy.value_hi = Clone(module_, copy.value_hi, names, tensors_);
  copy.counts = copy.counts ? tensors_.at(copy.counts).tensor : TensorId{};
  TensorId mine = module_.tensors.Add(std::move(copy));
  tensors_[id] = {mine, {}};
  return mine;
}

NodeId KernelBuilder::CopyBuffer(const BufferDecl& buffer, SourceRange range) {
  return module_.AddNode(BufferDecl{CopyTensor(buffer.tensor)}, range);
}

NodeId KernelBuilder::CopyEvent(const EventDecl& event, SourceRange range) {
  Event copy = module_.events[event.event];
  copy.name = UniqueName(copy.name, names_);
  Substitution vars;
  for (EventDim& dim : copy.dims) {
    if (dim.var) {
      SymbolId var = module_.symbols.Add(module_.symbols[dim.var]);
      vars[dim.var] = MakeRef(module_, var);
      dim.var = var;
    }
  }
  copy.count = Clone(module_, copy.count, vars, tensors_);
  EventId mine = module_.events.Add(std::move(copy));
  events_[event.event] = mine;
  return module_.AddNode(EventDecl{mine}, range);
}

EventId KernelBuilder::AddTrigger(Event trigger, std::vector<NodeId>& declarations) {
  trigger.name = UniqueName(trigger.name, names_);
  SourceRange range = trigger.range;
  EventId id = module_.events.Add(std::move(trigger));
  declarations.push_back(module_.AddNode(EventDecl{id}, range));
  return id;
}

EventRef KernelBuilder::CopyRef(const EventRef& ref, const Substitution& symbols) {
  EventRef copy = Clone(module_, ref, symbols, tensors_);
  copy.event = events_.at(ref.event);
  return copy;
}

Repeat KernelBuilder::CopyHead(const Repeat& repeat) {
  Repeat copy;
  copy.lo = Clone(module_, repeat.lo, symbols_);
  copy.hi = Clone(module_, repeat.hi, symbols_);
  copy.var = module_.symbols.Add(module_.symbols[repeat.var]);
  symbols_[repeat.var] = MakeRef(module_, copy.var);
  return copy;
}

Share KernelBuilder::CopyCall(const CallNode& call) {
  const Device device = module_.devices[call.callee];
  Share share;
  share.callee = call.callee;
  for (const Argument& argument : call.args) {
    Argument mine = tensors_.at(argument.tensor);
    for (ExprId index : argument.indices) {
      mine.indices.push_back(Clone(module_, index, symbols_));
    }
    share.args.push_back(std::move(mine));
  }
  for (ExprId scalar : call.scalars) {
    share.scalars.push_back(Clone(module_, scalar, symbols_));
  }
  share.axes = CopyAxes(device, share.args);
  return share;
}

std::vector<Axis> KernelBuilder::CopyAxes(const Device& device, const std::vector<Argument>& args) {
  Substitution task_names;
  TensorSubstitution tensors;
  for (size_t i = 0; i < args.size(); ++i) {
    tensors[device.params[i]] = args[i];
  }
  std::vector<Axis> axes;
  for (const Axis& axis : device.tasks) {
    Axis mine;
    mine.var = module_.symbols.Add(module_.symbols[axis.var]);
    mine.lo = folder_.Fold(Clone(module_, axis.lo, task_names, tensors));
    mine.hi = folder_.Fold(Clone(module_, axis.hi, task_names, tensors));
    task_names[axis.var] = MakeRef(module_, mine.var);
    axes.push_back(mine);
  }
  return axes;
}

ExprId KernelBuilder::CountOf(const CallNode& call) {
  const Device device = module_.devices[call.callee];
  if (ReadsTensor(module_, device.tasks)) {
    return MakeInt(module_, 0);
  }
  Share share;
  share.axes = CopyAxes(device, {});
  // A sum of tasks would be computed by each SM, to know no more than where the next share begins.
  return IsBox(module_, share.axes) ? TaskCount(module_, share.axes)
                                    : MostTasksOf(module_, share, {}).value_or(MakeInt(module_, 0));
}

std::vector<EventRef> TakeCommonWaits(const Module& module, std::vector<EventRef>& waits,
                                      const std::vector<SymbolId>& coords) {
  std::vector<EventRef> common, others;
  for (EventRef& wait : waits) {
    bool is_common = IsCommonWait(module, wait, coords, !others.empty());
    (is_common ? common : others).push_back(std::move(wait));
  }
  waits = std::move(others);
  return common;
}

bool IsForLaunches(const Module& module, const Graph& graph, const ScheduleOptions& options) {
  if (!options.schedule) {
    return SchedulesOf(module, graph) == std::set{ScheduleKind::Kernels};
  }
  // What was chosen goes over what calls say of themselves, as `--schedule` does.
  return *options.schedule == ScheduleKind::Kernels ||
         (*options.schedule == ScheduleKind::Auto && graph.schedule == ScheduleKind::Kernels);
}

bool AskedFitsMesh(const Module& module, const ScheduleOptions& options, Diagnostics& diagnostics) {
  ScheduleKind asked = options.schedule.value_or(ScheduleKind::Static);
  if (!module.mesh || FitsMesh(asked)) {
    return true;
  }
  diagnostics
      .Error(DiagnosticKind::Unsupported, module.mesh->range,
             fmt::format("a program with a mesh becomes one kernel, and `{}` was asked for",
                         Spelling(asked)))
      .notes.push_back({{}, std::string(kWhyNotOverRanks)});
  return false;
}

bool ReplaceGraphs(Module& module, const std::function<bool(const Graph&)>& takes,
                   const std::function<std::optional<Kernel>(const Graph&)>& lower,
                   Diagnostics& diagnostics) {
  std::vector<Item> items;
  std::set<std::string> failed;  // graphs of the source
  for (const Item& item : module.items) {
    const auto* id = std::get_if<GraphId>(&item);
    if (id == nullptr || !takes(module.graphs[*id])) {
      items.push_back(item);
      continue;
    }
    const Graph graph = module.graphs[*id];
    if (failed.contains(SourceName(graph))) {
      continue;  // the other ranges would repeat the same errors
    }
    if (!graph.specialisations.empty()) {
      diagnostics.Error(DiagnosticKind::Structure, graph.specialisations.front().range,
                        fmt::format("graph `@{}` is for several ranges; pass `specialise` makes a "
                                    "graph of each",
                                    graph.name));
      failed.insert(graph.name);
    } else if (auto kernel = lower(graph)) {
      items.push_back(module.kernels.Add(std::move(*kernel)));
    } else {
      failed.insert(SourceName(graph));
    }
  }
  module.items = std::move(items);
  return failed.empty();
}

}  // namespace etc
