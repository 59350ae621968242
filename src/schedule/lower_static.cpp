#include <fmt/format.h>

#include <set>

#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "schedule/lower.h"
#include "verify/walk.h"

namespace etc {
namespace {

/// Builds one kernel from one graph. Tensors, events and repeat variables become the kernel's own.
class Lowering {
 public:
  Lowering(Module& module, const Graph& graph, const ScheduleOptions& options,
           Diagnostics& diagnostics)
      : module_(module), graph_(graph), options_(options), diagnostics_(diagnostics) {}

  std::optional<Kernel> Run(const DimRange* range) {
    Kernel kernel;
    kernel.name = graph_.name;
    kernel.graph = graph_.name;
    kernel.consumer_warps = options_.consumer_warps;
    kernel.shared_bytes = options_.shared_bytes;
    kernel.range = graph_.range;
    if (range != nullptr) {
      SymbolId dim = graph_.specialisation->dim;
      kernel.where.push_back({dim, range->lo, range->hi});
      auto lo = EvaluateInt(module_, range->lo, {});
      auto hi = EvaluateInt(module_, range->hi, {});
      ETC_CHECK(lo && hi);
      kernel.name += fmt::format("__{}_{}_{}", module_.symbols[dim].name, *lo, *hi);
    }
    for (TensorId param : graph_.params) {
      kernel.params.push_back(CopyTensor(param));
    }
    ExprId first = MakeInt(module_, 0);
    if (!LowerBlock(graph_.body, graph_.schedule, first, kernel.declarations, kernel.body)) {
      return std::nullopt;
    }
    return kernel;
  }

 private:
  /// A name that no other tensor or event of the kernel has: in a graph, two blocks may each have
  /// a buffer of one name, but a kernel's declarations are one list.
  std::string UniqueName(const std::string& name) {
    std::string unique = name;
    for (int i = 2; !names_.insert(unique).second; ++i) {
      unique = fmt::format("{}_{}", name, i);
    }
    return unique;
  }

  TensorId CopyTensor(TensorId id) {
    Tensor copy = module_.tensors[id];
    copy.name = UniqueName(copy.name);
    TensorId mine = module_.tensors.Add(std::move(copy));
    tensors_[id] = mine;
    return mine;
  }

  EventId CopyEvent(EventId id) {
    Event copy = module_.events[id];
    copy.name = UniqueName(copy.name);
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
    events_[id] = mine;
    return mine;
  }

  EventRef Lower(const EventRef& ref, const Substitution& symbols) {
    EventRef lowered = Clone(module_, ref, symbols, tensors_);
    lowered.event = events_.at(ref.event);
    return lowered;
  }

  /// Lowers the nodes in order. `first` is the number of tasks that precede the block, and then
  /// those that precede what follows it.
  bool LowerBlock(const std::vector<NodeId>& nodes, std::optional<ScheduleKind> schedule,
                  ExprId& first, std::vector<NodeId>& declarations, std::vector<NodeId>& body) {
    bool ok = true;
    for (NodeId id : nodes) {
      const Node node = module_.nodes[id];  // a copy: lowering grows the table
      SourceRange range = module_.RangeOf(id);
      if (const auto* buffer = std::get_if<BufferDecl>(&node)) {
        declarations.push_back(module_.AddNode(BufferDecl{CopyTensor(buffer->tensor)}, range));
      } else if (const auto* event = std::get_if<EventDecl>(&node)) {
        declarations.push_back(module_.AddNode(EventDecl{CopyEvent(event->event)}, range));
      } else if (const auto* call = std::get_if<CallNode>(&node)) {
        ok &= LowerCall(*call, range, call->schedule ? call->schedule : schedule, first, body);
      } else if (const auto* repeat = std::get_if<Repeat>(&node)) {
        ok &= LowerRepeat(*repeat, range, schedule, first, declarations, body);
      } else if (const auto* region = std::get_if<Region>(&node)) {
        ok &= LowerBlock(region->body, region->schedule, first, declarations, body);
      } else {
        ETC_CHECK(!"a share inside a graph");
      }
    }
    return ok;
  }

  bool LowerRepeat(const Repeat& repeat, SourceRange range, std::optional<ScheduleKind> schedule,
                   ExprId& first, std::vector<NodeId>& declarations, std::vector<NodeId>& body) {
    Repeat lowered;
    lowered.lo = Clone(module_, repeat.lo, symbols_);
    lowered.hi = Clone(module_, repeat.hi, symbols_);
    lowered.var = module_.symbols.Add(module_.symbols[repeat.var]);
    symbols_[repeat.var] = MakeRef(module_, lowered.var);

    // Two rounds: the number of tasks of one iteration is a factor in where its shares start.
    ExprId per_iteration = MakeInt(module_, 0);
    if (!CountTasks(repeat.body, per_iteration)) {
      return false;
    }
    ExprId iteration = MakeSub(MakeRef(module_, lowered.var), lowered.lo);
    ExprId inside = MakeAdd(module_, first, MakeMul(module_, iteration, per_iteration));
    if (!LowerBlock(repeat.body, schedule, inside, declarations, lowered.body)) {
      return false;
    }
    ExprId iterations = MakeSub(lowered.hi, lowered.lo);
    first = MakeAdd(module_, first, MakeMul(module_, iterations, per_iteration));
    body.push_back(module_.AddNode(std::move(lowered), range));
    return true;
  }

  ExprId MakeSub(ExprId left, ExprId right) {
    if (auto value = EvaluateInt(module_, right, {}); value && *value == 0) {
      return left;
    }
    return module_.AddExpr(Binary{BinaryOp::Sub, left, right});
  }

  /// Adds the number of tasks of all calls in `nodes` to `total`.
  bool CountTasks(const std::vector<NodeId>& nodes, ExprId& total) {
    for (NodeId id : nodes) {
      const Node node = module_.nodes[id];
      if (const auto* call = std::get_if<CallNode>(&node)) {
        auto tasks = TaskCount(*call, module_.RangeOf(id));
        if (!tasks) {
          return false;
        }
        total = MakeAdd(module_, total, *tasks);
      } else if (const auto* repeat = std::get_if<Repeat>(&node)) {
        ExprId inner = MakeInt(module_, 0);
        if (!CountTasks(repeat->body, inner)) {
          return false;
        }
        ExprId iterations =
            MakeSub(Clone(module_, repeat->hi, symbols_), Clone(module_, repeat->lo, symbols_));
        total = MakeAdd(module_, total, MakeMul(module_, iterations, inner));
      } else if (const auto* region = std::get_if<Region>(&node)) {
        if (!CountTasks(region->body, total)) {
          return false;
        }
      }
    }
    return true;
  }

  std::optional<ExprId> TaskCount(const CallNode& call, SourceRange range) {
    const Device device = module_.devices[call.callee];
    ExprId count = MakeInt(module_, 1);
    for (const Axis& axis : device.tasks) {
      if (ReadsTensor(module_, axis.lo) || ReadsTensor(module_, axis.hi)) {
        diagnostics_.Error(DiagnosticKind::Unsupported, range,
                           fmt::format("the static schedule cannot yet run `@{}`: its task range "
                                       "is read from a tensor",
                                       device.name));
        return std::nullopt;
      }
      ExprId extent = Clone(module_, axis.hi, {});
      if (axis.lo) {
        extent = MakeSub(extent, Clone(module_, axis.lo, {}));
      }
      count = MakeMul(module_, count, extent);
    }
    return count;
  }

  bool LowerCall(const CallNode& call, SourceRange range, std::optional<ScheduleKind> schedule,
                 ExprId& first, std::vector<NodeId>& body) {
    ScheduleKind kind = options_.schedule.value_or(schedule.value_or(ScheduleKind::Static));
    if (kind == ScheduleKind::Dynamic || kind == ScheduleKind::Kernels) {
      diagnostics_.Error(DiagnosticKind::Unsupported, range,
                         fmt::format("the `{}` schedule is not available yet; use `static`",
                                     kind == ScheduleKind::Dynamic ? "dynamic" : "kernels"));
      return false;
    }
    auto tasks = TaskCount(call, range);
    if (!tasks) {
      return false;
    }
    const Device device = module_.devices[call.callee];
    Share share;
    share.callee = call.callee;
    share.first = first;
    Substitution task_names;
    for (const Axis& axis : device.tasks) {
      Axis mine;
      mine.var = module_.symbols.Add(module_.symbols[axis.var]);
      mine.lo = axis.lo ? Clone(module_, axis.lo, task_names) : ExprId{};
      mine.hi = Clone(module_, axis.hi, task_names);
      task_names[axis.var] = MakeRef(module_, mine.var);
      share.axes.push_back(mine);
    }
    for (const Argument& argument : call.args) {
      Argument mine{tensors_.at(argument.tensor), {}};
      for (ExprId index : argument.indices) {
        mine.indices.push_back(Clone(module_, index, symbols_));
      }
      share.args.push_back(std::move(mine));
    }
    bool ok = true;
    auto lower_edges = [&](const std::vector<Edge>& edges, std::vector<EventRef>& refs) {
      for (const Edge& edge : edges) {
        Substitution symbols = symbols_;
        for (size_t i = 0; i < edge.coords.size(); ++i) {
          symbols[edge.coords[i]] = MakeRef(module_, share.axes[i].var);
        }
        for (const EventRef& ref : edge.refs) {
          if (ReadsTensor(module_, ref) || ReadsTensor(module_, module_.events[ref.event].count)) {
            diagnostics_.Error(DiagnosticKind::Unsupported, range,
                               fmt::format("the static schedule cannot yet use event `%{}`: its "
                                           "count or map is read from a tensor",
                                           module_.events[ref.event].name));
            ok = false;
            continue;
          }
          refs.push_back(Lower(ref, symbols));
        }
      }
    };
    lower_edges(call.waits, share.waits);
    lower_edges(call.notifies, share.notifies);
    body.push_back(module_.AddNode(std::move(share), range));
    first = MakeAdd(module_, first, *tasks);
    return ok;
  }

  Module& module_;
  const Graph& graph_;
  const ScheduleOptions& options_;
  Diagnostics& diagnostics_;
  TensorSubstitution tensors_;
  std::map<EventId, EventId> events_;
  std::set<std::string> names_;
  Substitution symbols_;  // repeat variables of the graph to those of the kernel
};

}  // namespace

bool LowerStatic(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics) {
  std::vector<Item> items;
  bool ok = true;
  for (const Item& item : module.items) {
    const auto* id = std::get_if<GraphId>(&item);
    if (id == nullptr) {
      items.push_back(item);
      continue;
    }
    const Graph graph = module.graphs[*id];
    std::vector<const DimRange*> ranges{nullptr};
    if (graph.specialisation) {
      ranges.clear();
      for (const DimRange& range : graph.specialisation->ranges) {
        ranges.push_back(&range);
      }
    }
    for (const DimRange* range : ranges) {
      auto kernel = Lowering(module, graph, options, diagnostics).Run(range);
      if (!kernel) {
        ok = false;
        break;  // the other ranges would repeat the same errors
      }
      items.push_back(module.kernels.Add(std::move(*kernel)));
    }
  }
  module.items = std::move(items);
  return ok;
}

}  // namespace etc
