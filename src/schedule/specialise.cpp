// One graph for each range of a specialisation.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "ir/evaluate.h"
#include "ir/fold.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/lower.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

/// Makes the graph for one combination of ranges (empty: for all sizes).
class Specialiser {
 public:
  Specialiser(Module& module, const Graph& graph, const std::vector<Where>& where)
      : module_(module), graph_(graph), where_(where), folder_(module, RangesOf(module, where)) {}

  Graph Run() {
    Graph graph = graph_;
    Narrow(module_, graph, where_);
    std::set<EventId> waited, notified;
    FindLive(graph_.body, waited, notified);
    std::set_intersection(waited.begin(), waited.end(), notified.begin(), notified.end(),
                          std::inserter(live_events_, live_events_.end()));
    for (EventId event : live_events_) {
      AddRead(module_.events[event].count);
    }
    graph.body = Block(graph_.body);
    return graph;
  }

 private:
  bool HasTasks(const CallNode& call) const {
    return MayHaveTasks(module_, module_.devices[call.callee].tasks, folder_.ranges());
  }

  /// Whether the guard of a wait or of a notify may hold.
  bool MayHappen(const EventRef& ref) const {
    return !ref.guard || Decide(module_, ref.guard, {}, folder_.ranges()) != false;
  }

  /// Adds what the calls with tasks use: buffers, and the events that they wait for and notify.
  void FindLive(const std::vector<NodeId>& nodes, std::set<EventId>& waited,
                std::set<EventId>& notified) {
    VisitNodes(module_, nodes, [&](NodeId id) {
      const auto* call = std::get_if<CallNode>(&module_.nodes[id]);
      if (call == nullptr || !HasTasks(*call)) {
        return;
      }
      const Device& callee = module_.devices[call->callee];
      for (size_t i = 0; i < call->args.size(); ++i) {
        live_buffers_.insert(call->args[i].tensor);
        if (module_.tensors[callee.params[i]].symmetric) {
          written_at_peers_.insert(call->args[i].tensor);
        }
      }
      AddEvents(call->waits, waited);
      AddEvents(call->notifies, notified);
    });
  }

  void AddEvents(const std::vector<Edge>& edges, std::set<EventId>& events) {
    for (const Edge& edge : edges) {
      for (const EventRef& ref : edge.refs) {
        if (MayHappen(ref)) {
          events.insert(ref.event);
          VisitExprs(module_, ref, [&](ExprId id) { AddLoad(id); });
        }
      }
    }
  }

  void AddRead(ExprId expr) {
    VisitExprs(module_, expr, [&](ExprId id) { AddLoad(id); });
  }
  void AddLoad(ExprId id) {
    if (const auto* load = std::get_if<Load>(&module_.exprs[id])) {
      live_buffers_.insert(load->tensor);
    }
  }

  std::vector<NodeId> Block(const std::vector<NodeId>& nodes) {
    std::vector<NodeId> block;
    for (NodeId id : nodes) {
      const Node node = module_.nodes[id];  // a copy: the table grows
      if (auto made = std::visit([&](const auto& each) { return Made(each); }, node)) {
        block.push_back(module_.AddNode(std::move(*made), module_.RangeOf(id)));
      }
    }
    return block;
  }

  std::optional<Node> Made(const BufferDecl& buffer) {
    if (!live_buffers_.contains(buffer.tensor)) {
      return std::nullopt;
    }
    Tensor tensor = module_.tensors[buffer.tensor];
    folder_.Fold(tensor.shape);
    tensor.symmetric = written_at_peers_.contains(buffer.tensor);
    TensorId mine = module_.tensors.Add(std::move(tensor));
    tensors_[buffer.tensor] = {mine, {}};
    return BufferDecl{mine};
  }

  std::optional<Node> Made(const EventDecl& decl) {
    if (!live_events_.contains(decl.event)) {
      return std::nullopt;
    }
    Event event = module_.events[decl.event];
    for (EventDim& dim : event.dims) {
      dim.extent = folder_.Fold(dim.extent);
    }
    event.count = Copy(event.count);
    EventId mine = module_.events.Add(std::move(event));
    events_[decl.event] = mine;
    return EventDecl{mine};
  }

  std::optional<Node> Made(CallNode call) {
    if (!HasTasks(call)) {
      return std::nullopt;
    }
    for (Argument& argument : call.args) {
      auto found = tensors_.find(argument.tensor);
      argument.tensor = found == tensors_.end() ? argument.tensor : found->second.tensor;
      folder_.Fold(argument.indices);
    }
    folder_.Fold(call.scalars);
    FoldEdges(call.waits);
    FoldEdges(call.notifies);
    return call;
  }

  std::optional<Node> Made(Repeat repeat) {
    repeat.lo = folder_.Fold(repeat.lo);
    repeat.hi = folder_.Fold(repeat.hi);
    repeat.body = Block(repeat.body);
    return repeat.body.empty() ? std::nullopt : std::optional<Node>(std::move(repeat));
  }

  std::optional<Node> Made(Region region) {
    region.body = Block(region.body);
    return region.body.empty() ? std::nullopt : std::optional<Node>(std::move(region));
  }

  std::optional<Node> Made(const OneOf<Share, Dispatch> auto&) {
    ETC_CHECK(!"a share inside a graph");
  }

  void FoldEdges(std::vector<Edge>& edges) {
    for (Edge& edge : edges) {
      std::erase_if(edge.refs, [&](const EventRef& ref) {
        return !live_events_.contains(ref.event) || !MayHappen(ref);
      });
      for (EventRef& ref : edge.refs) {
        ref = Copy(ref);
      }
    }
    std::erase_if(edges, [](const Edge& edge) { return edge.refs.empty(); });
  }

  ExprId Copy(ExprId expr) { return folder_.Fold(Clone(module_, expr, {}, tensors_)); }

  EventRef Copy(const EventRef& ref) {
    EventRef copy = Clone(module_, ref, {}, tensors_);
    copy.event = events_.at(ref.event);
    copy.range = ref.range;
    folder_.Fold(copy);
    const auto* guard = copy.guard ? std::get_if<BoolLiteral>(&module_.exprs[copy.guard]) : nullptr;
    if (guard != nullptr && guard->value) {
      copy.guard = {};
    }
    return copy;
  }

  Module& module_;
  const Graph& graph_;
  const std::vector<Where>& where_;
  Folder folder_;
  std::set<TensorId> live_buffers_;
  std::set<TensorId> written_at_peers_;  // other buffers need no place in symmetric memory
  std::set<EventId> live_events_;
  TensorSubstitution tensors_;  // buffers of the source's graph to those of this one
  std::map<EventId, EventId> events_;
};

/// A kernel for each number of ranks: in front of what the graph says of other sizes.
void AddRanks(Module& module, Graph& graph) {
  const std::vector<int64_t> values = module.mesh ? module.mesh->values : std::vector<int64_t>();
  if (values.size() < 2 || !graph.where.empty()) {
    return;
  }
  Specialisation ranks{module.mesh->size, {}};
  for (int64_t value : values) {
    ranks.ranges.push_back({MakeInt(module, value), MakeInt(module, value)});
  }
  graph.specialisations.insert(graph.specialisations.begin(), std::move(ranks));
}

}  // namespace

bool Specialise(Module& module, const ScheduleOptions&, Diagnostics&) {
  std::vector<Item> items;
  for (const Item& item : module.items) {
    const auto* id = std::get_if<GraphId>(&item);
    if (id == nullptr) {
      items.push_back(item);
      continue;
    }
    Graph graph = module.graphs[*id];
    AddRanks(module, graph);
    for (const std::vector<Where>& where : WheresOf(module, graph)) {
      items.push_back(module.graphs.Add(Specialiser(module, graph, where).Run()));
    }
  }
  module.items = std::move(items);
  return true;
}

}  // namespace etc
