#include "mutator.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/events_of_sm.h"
#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/rewrite.h"
#include "mutation_collector.h"

namespace etc::mutation {
namespace {

class Collector : public MutationCollector {
 public:
  explicit Collector(const Module& module) : MutationCollector(module), module_(module) {}

  std::vector<Mutation> Run() {
    for (TensorId id : module_.tensors.Ids()) {
      AddPrecondition(id);
    }
    for (const Item& item : module_.items) {
      if (const auto* symbol = std::get_if<SymbolId>(&item)) {
        AddDimension(*symbol);
      } else if (const auto* require = std::get_if<Require>(&item)) {
        AddRequirement(require->condition);
      } else if (const auto* device = std::get_if<DeviceId>(&item)) {
        AddDevice(*device);
      } else if (const auto* graph = std::get_if<GraphId>(&item)) {
        GraphId id = *graph;
        AddBlock(module_.graphs[id].body, [id](Module& m) { return &m.graphs[id].body; });
      } else if (const auto* kernel = std::get_if<KernelId>(&item)) {
        KernelId id = *kernel;
        AddBlock(module_.kernels[id].declarations,
                 [id](Module& m) { return &m.kernels[id].declarations; });
        AddBlock(module_.kernels[id].body, [id](Module& m) { return &m.kernels[id].body; });
      }
    }
    return Take();
  }

 private:
  void AddPrecondition(TensorId id) {
    const Tensor& tensor = module_.tensors[id];
    if (tensor.distinct) {
      Add("drop a precondition", [id](Module& m) { m.tensors[id].distinct = false; });
    }
    if (tensor.value_lo) {
      AddShift("a range of values", tensor.value_lo);
      AddShift("a range of values", tensor.value_hi);
    }
  }

  /// More sizes than the program is for.
  void AddDimension(SymbolId id) {
    const Symbol& symbol = module_.symbols[id];
    if (symbol.kind != SymbolKind::Dim) {
      return;
    }
    Add("a smaller size", [id](Module& m) { AddTo(m, m.symbols[id].lo, -1); });
    if (symbol.multiple) {
      Add("drop a multiple", [id](Module& m) { m.symbols[id].multiple = {}; });
    }
  }

  void AddRequirement(ExprId condition) {
    Add("drop a requirement", [condition](Module& m) { m.exprs[condition] = BoolLiteral{true}; });
    AddInside("a requirement", condition);
    if (const auto* compared = std::get_if<Binary>(&module_.exprs[condition])) {
      AddShift("a requirement", compared->right);
    }
  }

  void AddDevice(DeviceId id) {
    for (SymbolId scalar : module_.devices[id].scalars) {
      if (module_.symbols[scalar].lo) {
        AddShift("the range of a scalar", module_.symbols[scalar].lo);
        AddShift("the range of a scalar", module_.symbols[scalar].hi);
      }
    }
    for (const Axis& axis : module_.devices[id].tasks) {
      AddAxis("a task range", axis);
    }
    AddBodyMutations(*this, id);
  }

  void AddBlock(const std::vector<NodeId>& nodes, const In<std::vector<NodeId>*>& block) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = module_.nodes[nodes[i]];
      NodeId id = nodes[i];
      if (const auto* decl = std::get_if<EventDecl>(&node)) {
        AddEvent(decl->event);
      } else if (const auto* buffer = std::get_if<BufferDecl>(&node)) {
        AddOffset(buffer->tensor);
      } else if (const auto* call = std::get_if<CallNode>(&node)) {
        AddCall(id, *call);
      } else if (const auto* share = std::get_if<Share>(&node)) {
        AddShare(id, *share);
      } else if (const auto* repeat = std::get_if<Repeat>(&node)) {
        iterations_.push_back(repeat->var);
        AddBlock(repeat->body, [id](Module& m) { return &std::get<Repeat>(m.nodes[id]).body; });
        iterations_.pop_back();
      } else if (const auto* dispatch = std::get_if<Dispatch>(&node)) {
        AddBlock(dispatch->cases,
                 [id](Module& m) { return &std::get<Dispatch>(m.nodes[id]).cases; });
        SetOfDispatch(true);
        AddTickets(*dispatch);
        AddMoves(*dispatch);
        if (dispatch->capacity) {
          AddShift("the capacity of a queue", dispatch->capacity);
          AddInside("the capacity of a queue", dispatch->capacity);
        }
        SetOfDispatch(false);
      }
      if (i + 1 < nodes.size()) {
        AddJoin(nodes[i], nodes[i + 1], block, i);
      }
      bool runs = Runs(node);
      if (runs && i + 1 < nodes.size() && Runs(module_.nodes[nodes[i + 1]])) {
        Add("reorder", [block, i](Module& m) { std::swap((*block(m))[i], (*block(m))[i + 1]); });
      }
    }
  }

  static bool Runs(const Node& node) {
    return std::holds_alternative<CallNode>(node) || std::holds_alternative<Share>(node) ||
           std::holds_alternative<Repeat>(node) || std::holds_alternative<Dispatch>(node);
  }

  /// Counters that are those of others.
  void AddTickets(const Dispatch& dispatch) {
    if (dispatch.tickets) {
      AddShift("the counters of tickets", dispatch.tickets);
      AddInside("the counters of tickets", dispatch.tickets);
    }
  }

  /// The cases of two dispatches that follow each other are given out together.
  void AddJoin(NodeId first, NodeId second, const In<std::vector<NodeId>*>& block, size_t place) {
    const auto* before = std::get_if<Dispatch>(&module_.nodes[first]);
    const auto* behind = std::get_if<Dispatch>(&module_.nodes[second]);
    if (before == nullptr || behind == nullptr || (!before->capacity && !behind->capacity)) {
      return;
    }
    SetOfDispatch(true);
    Add("join two dispatches", [first, second, block, place](Module& m) {
      const Dispatch other = std::get<Dispatch>(m.nodes[second]);
      auto capacity = std::get<Dispatch>(m.nodes[first]).capacity;
      if (capacity && other.capacity) {
        capacity = MakeAdd(m, capacity, other.capacity);
      }
      Dispatch& joined = std::get<Dispatch>(m.nodes[first]);
      joined.capacity = capacity ? capacity : other.capacity;
      joined.cases.insert(joined.cases.end(), other.cases.begin(), other.cases.end());
      block(m)->erase(block(m)->begin() + static_cast<std::ptrdiff_t>(place) + 1);
    });
    SetOfDispatch(false);
  }

  /// What arrives when a task of one case is given out arrives with a task of another.
  void AddMoves(const Dispatch& dispatch) {
    for (NodeId from : dispatch.cases) {
      for (NodeId to : dispatch.cases) {
        size_t arrivals = std::get<Share>(module_.nodes[from]).arrivals.size();
        for (size_t i = 0; from != to && i < arrivals; ++i) {
          Add("move an arrival to another case",
              [from, to, i](Module& m) { Move(m, from, to, i); });
        }
      }
    }
  }

  /// The other case's coordinates stand for those of the first, as far as there are as many.
  static void Move(Module& m, NodeId from, NodeId to, size_t arrival) {
    Share& source = std::get<Share>(m.nodes[from]);
    EventRef moved = source.arrivals[arrival];
    source.arrivals.erase(source.arrivals.begin() + static_cast<std::ptrdiff_t>(arrival));
    const std::vector<Axis> own = source.axes;
    const std::vector<Axis> others = std::get<Share>(m.nodes[to]).axes;
    Substitution names;
    for (size_t axis = 0; axis < own.size(); ++axis) {
      names[own[axis].var] = axis < others.size() ? MakeRef(m, others[axis].var) : MakeInt(m, 0);
    }
    moved = Clone(m, moved, names);
    std::get<Share>(m.nodes[to]).arrivals.push_back(std::move(moved));
  }

  /// An index that says of which iteration an element is becomes one that is the same in all.
  void AddSameIteration(const std::string& what, const EventRef& ref) {
    for (const EventIndex& index : ref.indices) {
      if (index.lo && Mentions(module_, index.lo, iterations_)) {
        Add("ignore the iteration in a " + what,
            [lo = index.lo](Module& m) { m.exprs[lo] = IntLiteral{0}; });
      }
    }
  }

  void AddEvent(EventId id) {
    const Event& event = module_.events[id];
    SetOfDispatch(event.trigger);
    Add("change a count", [id](Module& m) { AddTo(m, m.events[id].count, 1); });
    Add("change a count", [id](Module& m) { AddTo(m, m.events[id].count, -1); });
    AddInside("a count", event.count);
    for (const EventDim& dim : event.dims) {
      AddShift("an extent of an event", dim.extent);
      AddInside("an extent of an event", dim.extent);
    }
    SetOfDispatch(false);
    AddVia(id);
  }

  /// An event that is carried inside of an SM, where its tasks are or are not on one.
  void AddVia(EventId id) {
    if (!module_.events[id].first || module_.events[id].trigger) {
      return;
    }
    Add("carry an event inside of an SM",
        [id](Module& m) { m.events[id].realisation = Realisation::Shared; });
    Add("carry an event inside of an SM", [id](Module& m) {
      m.events[id].realisation = Realisation::None;
      m.events[id].first = {};
    });
  }

  /// Where the tasks of a share run, which decides about events inside of an SM.
  void AddFirst(NodeId id, const Share& share) {
    bool own = std::any_of(module_.events.begin(), module_.events.end(), IsOfSm);
    if (!own || !share.first) {
      return;
    }
    auto shift = [id](int64_t by) {
      return [id, by](Module& m) {
        ExprId first = std::get<Share>(m.nodes[id]).first;
        ExprId moved = MakeAdd(m, first, MakeInt(m, by));
        std::get<Share>(m.nodes[id]).first = moved;
      };
    };
    Add("begin a share on the next SM", shift(1));
    Add("begin a share two SMs on", shift(2));
  }

  /// Two buffers of a workspace at one place.
  void AddOffset(TensorId id) {
    if (!module_.tensors[id].offset) {
      return;
    }
    for (TensorId other : module_.tensors.Ids()) {
      if (other != id && module_.tensors[other].offset) {
        Add("overlap buffers", [id, other](Module& m) {
          m.exprs[m.tensors[id].offset] = Expr(m.exprs[m.tensors[other].offset]);
        });
      }
    }
  }

  void AddCall(NodeId id, const CallNode& call) {
    for (bool wait : {true, false}) {
      const std::vector<Edge>& edges = wait ? call.waits : call.notifies;
      for (size_t e = 0; e < edges.size(); ++e) {
        auto edge = [id, wait, e](Module& m) {
          CallNode& node = std::get<CallNode>(m.nodes[id]);
          return &(wait ? node.waits : node.notifies)[e];
        };
        if (edges[e].coords.size() >= 2) {
          Add("swap the coordinates of an edge",
              [edge](Module& m) { std::swap(edge(m)->coords[0], edge(m)->coords[1]); });
        }
        AddRefs(wait ? "wait" : "notify", edges[e].refs, edges[e].coords,
                [edge](Module& m) { return &edge(m)->refs; });
      }
    }
    AddArguments(call.args, [id](Module& m) { return &std::get<CallNode>(m.nodes[id]).args; });
    AddScalars(call.scalars);
  }

  void AddScalars(const std::vector<ExprId>& values) {
    for (ExprId value : values) {
      ValueKind kind = KindOf(module_, value);
      if (kind == ValueKind::Int) {
        AddShift("a scalar", value);
      } else if (kind == ValueKind::Bool) {
        Add("negate a scalar", [value](Module& m) {
          Replace(m, value, [](ExprId copy) { return Expr(Unary{UnaryOp::Not, copy}); });
        });
      }
      AddInside("a scalar", value);
    }
  }

  void AddShare(NodeId id, const Share& share) {
    std::vector<SymbolId> coords;
    for (const Axis& axis : share.axes) {
      coords.push_back(axis.var);
      AddAxis("a task range", axis);
    }
    AddFirst(id, share);
    auto refs = [id](std::vector<EventRef> Share::*list) {
      return [id, list](Module& m) { return &(std::get<Share>(m.nodes[id]).*list); };
    };
    AddRefs("wait", share.range_waits, {}, refs(&Share::range_waits));
    AddRefs("wait", share.enter_waits, {}, refs(&Share::enter_waits));
    AddRefs("wait", share.waits, coords, refs(&Share::waits));
    AddRefs("notify", share.notifies, coords, refs(&Share::notifies));
    AddRefs("notify", share.leave_notifies, {}, refs(&Share::leave_notifies));
    SetOfDispatch(true);
    AddRefs("arrival", share.arrivals, coords, refs(&Share::arrivals));
    AddRefs("arrival", share.after_arrivals, coords, refs(&Share::after_arrivals));
    AddRefs("wait", share.after_waits, coords, refs(&Share::after_waits));
    for (const auto* arrivals : {&share.arrivals, &share.after_arrivals}) {
      for (const EventRef& ref : *arrivals) {
        AddSameIteration("arrival", ref);
      }
    }
    if (share.pushed_by) {
      AddPush(id, *share.pushed_by);
      AddSameIteration("push", *share.pushed_by);
    }
    SetOfDispatch(false);
    AddArguments(share.args, [id](Module& m) { return &std::get<Share>(m.nodes[id]).args; });
    AddScalars(share.scalars);
  }

  /// Another trigger, or none: its tasks are there from the start.
  void AddPush(NodeId id, const EventRef& ref) {
    auto get = [id](Module& m) { return &*std::get<Share>(m.nodes[id]).pushed_by; };
    Add("drop a push", [id](Module& m) { std::get<Share>(m.nodes[id]).pushed_by.reset(); });
    for (size_t i = 0; i < ref.indices.size(); ++i) {
      AddEventIndex("push", ref.indices[i], [get, i](Module& m) { return &get(m)->indices[i]; });
    }
    AddOtherEvents("push", ref, get);
  }

  void AddArguments(const std::vector<Argument>& args, const In<std::vector<Argument>*>& list) {
    for (size_t a = 0; a < args.size(); ++a) {
      for (ExprId index : args[a].indices) {
        if (index) {  // the axis is not free
          AddShift("a slice", index);
        }
      }
      // Another tensor of the same type: two uses of one buffer, or one of the wrong one.
      const Tensor& mine = module_.tensors[args[a].tensor];
      for (TensorId other : module_.tensors.Ids()) {
        const Tensor& tensor = module_.tensors[other];
        if (other != args[a].tensor && tensor.kind == TensorKind::Buffer && Alike(mine, tensor)) {
          Add("use another buffer", [list, a, other](Module& m) { (*list(m))[a].tensor = other; });
        }
      }
      for (size_t b = 0; b < args.size(); ++b) {
        if (args[b].tensor != args[a].tensor && Alike(mine, module_.tensors[args[b].tensor])) {
          Add("give a tensor twice", [list, a, b](Module& m) { (*list(m))[a] = (*list(m))[b]; });
        }
      }
    }
    if (args.size() >= 3 && args[0].tensor != args[1].tensor) {
      Add("swap arguments", [list](Module& m) { std::swap((*list(m))[0], (*list(m))[1]); });
    }
  }

  bool Alike(const Tensor& a, const Tensor& b) const {
    bool same = a.type == b.type && a.shape.size() == b.shape.size();
    for (size_t i = 0; same && i < a.shape.size(); ++i) {
      same = Print(module_, a.shape[i]) == Print(module_, b.shape[i]);
    }
    return same;
  }

  void AddRefs(const std::string& what, const std::vector<EventRef>& refs,
               const std::vector<SymbolId>& coords, const In<std::vector<EventRef>*>& list) {
    for (size_t r = 0; r < refs.size(); ++r) {
      const EventRef& ref = refs[r];
      auto get = [list, r](Module& m) { return &(*list(m))[r]; };
      Add("drop a " + what, [list, r](Module& m) {
        list(m)->erase(list(m)->begin() + static_cast<std::ptrdiff_t>(r));
      });
      if (what == "notify" || what == "arrival") {
        Add("repeat a " + what, [list, r](Module& m) { list(m)->push_back((*list(m))[r]); });
      }
      for (SymbolId coord : coords) {
        for (int64_t value : {0, 1, 2}) {
          AddGuard(what, get, coord, BinaryOp::Ne, value);
        }
        AddGuard(what, get, coord, BinaryOp::Gt, 0);
        AddGuard(what, get, coord, BinaryOp::Lt, 2);
      }
      if (ref.peer) {
        AddShift("the rank of a " + what, ref.peer);
        Add("notify the own rank", [get](Module& m) { get(m)->peer = {}; });
      }
      if (ref.guard) {
        Add("drop the guard of a " + what, [get](Module& m) { get(m)->guard = {}; });
        AddInside("the guard of a " + what, ref.guard);
      }
      for (size_t i = 0; i < ref.indices.size(); ++i) {
        AddEventIndex(what, ref.indices[i], [get, i](Module& m) { return &get(m)->indices[i]; });
      }
      if (ref.indices.size() >= 2) {
        Add("swap the maps of a " + what,
            [get](Module& m) { std::swap(get(m)->indices[0], get(m)->indices[1]); });
      }
      AddOtherEvents(what, ref, get);
    }
  }

  void AddGuard(const std::string& what, const In<EventRef*>& get, SymbolId coord, BinaryOp op,
                int64_t value) {
    Add("drop a " + what + " of some tasks", [get, coord, op, value](Module& m) {
      ExprId left = MakeRef(m, coord);
      ExprId right = MakeInt(m, value);
      ExprId guard = m.AddExpr(Binary{op, left, right});
      ExprId old = get(m)->guard;
      get(m)->guard = old ? m.AddExpr(Binary{BinaryOp::And, old, guard}) : guard;
    });
  }

  void AddEventIndex(const std::string& what, const EventIndex& index, const In<EventIndex*>& get) {
    if (index.all) {
      Add("narrow a " + what, [get](Module& m) { *get(m) = {MakeInt(m, 0), {}, false}; });
      Add("narrow a " + what, [get](Module& m) {
        *get(m) = {MakeInt(m, 0), MakeInt(m, 2), false};
      });
      return;
    }
    AddShift("a " + what, index.lo);
    AddInside("a " + what, index.lo);
    Add("shift a " + what, [get](Module& m) {  // inside of the event
      Replace(m, get(m)->lo, [&](ExprId copy) {
        ExprId before = m.AddExpr(Binary{BinaryOp::Sub, copy, MakeInt(m, 1)});
        return Expr(Call{Intrinsic::Max, {before, MakeInt(m, 0)}});
      });
    });
    if (index.hi) {
      AddShift("the end of a " + what, index.hi);
      AddInside("the end of a " + what, index.hi);
    } else {
      Add("widen a " + what, [get](Module& m) {
        *get(m) = {MakeInt(m, 0), MakeAdd(m, get(m)->lo, MakeInt(m, 1)), false};
      });
    }
    Add("widen a " + what, [get](Module& m) { *get(m) = {{}, {}, true}; });
  }

  void AddOtherEvents(const std::string& what, const EventRef& ref, const In<EventRef*>& get) {
    for (EventId other : module_.events.Ids()) {
      if (other != ref.event &&
          module_.events[other].dims.size() == module_.events[ref.event].dims.size()) {
        Add("take another event in a " + what, [get, other](Module& m) { get(m)->event = other; });
      }
    }
  }

  const Module& module_;
  std::vector<SymbolId> iterations_;  // of the repeats around
};

}  // namespace

std::vector<Mutation> Mutations(const Module& module) { return Collector(module).Run(); }

}  // namespace etc::mutation
