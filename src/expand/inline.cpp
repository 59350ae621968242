#include "expand/inline.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ir/device_copy.h"
#include "ir/overloaded.h"
#include "ir/passed_tensors.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

class Inliner {
 public:
  Inliner(Module& module, const Graph& graph, const CallNode& call, Deduced deduced)
      : module_(module), copier_(module), absent_(graph.params.begin(), graph.params.end()) {
    copier_.symbols = std::move(deduced.values);
    for (size_t i = 0; i < deduced.params.size(); ++i) {
      copier_.tensors[deduced.params[i]] = call.args[i];
      absent_.erase(deduced.params[i]);
    }
  }

  std::vector<NodeId> Block(const std::vector<NodeId>& nodes) {
    std::vector<NodeId> copies;
    for (NodeId id : nodes) {
      const Node node = module_.nodes[id];  // a copy: the table grows
      copies.push_back(module_.AddNode(
          std::visit([&](const auto& one) { return Node(Copy(one)); }, node), module_.RangeOf(id)));
    }
    return copies;
  }

 private:
  BufferDecl Copy(const BufferDecl& buffer) { return {copier_.CopyParam(buffer.tensor)}; }

  EventDecl Copy(const EventDecl& decl) {
    Event event = module_.events[decl.event];
    for (EventDim& dim : event.dims) {
      dim.extent = copier_.Expr(dim.extent);
      dim.var = dim.var ? copier_.CopySymbol(dim.var) : dim.var;
    }
    event.count = copier_.Expr(event.count);
    EventId copy = module_.events.Add(std::move(event));
    events_[decl.event] = copy;
    return {copy};
  }

  CallNode Copy(const CallNode& call) {
    CallNode copy = call;
    LeaveOut(copy, absent_);
    for (Argument& argument : copy.args) {
      argument = Compose(argument);
    }
    for (GenericArg& generic : copy.generics) {
      generic.value = copier_.Expr(generic.value);
    }
    for (Pin& pin : copy.pins) {
      pin.value = copier_.Expr(pin.value);
    }
    copy.scalars = copier_.Exprs(call.scalars);
    for (auto* edges : {&copy.waits, &copy.notifies}) {
      for (Edge& edge : *edges) {
        edge = CopyEdge(edge);
      }
    }
    return copy;
  }

  Repeat Copy(const Repeat& repeat) {
    ExprId lo = copier_.Expr(repeat.lo);
    ExprId hi = copier_.Expr(repeat.hi);
    SymbolId var = copier_.CopySymbol(repeat.var);
    return {var, lo, hi, Block(repeat.body)};
  }

  Region Copy(const Region& region) { return {region.schedule, Block(region.body)}; }

  template <OneOf<Share, Dispatch> T>
  T Copy(const T&) {
    ETC_CHECK(!"a share inside a graph");
    return {};
  }

  Edge CopyEdge(const Edge& edge) {
    Edge copy;
    for (SymbolId coordinate : edge.coords) {
      copy.coords.push_back(copier_.CopySymbol(coordinate));
    }
    for (const EventRef& ref : edge.refs) {
      EventRef one = Clone(module_, ref, copier_.symbols, copier_.tensors);
      one.event = events_.at(ref.event);
      one.range = ref.range;
      copy.refs.push_back(std::move(one));
    }
    return copy;
  }

  /// An argument over the argument that its tensor stands for: its indices fill the axes that the
  /// other leaves free, and then come behind it.
  Argument Compose(const Argument& inner) {
    auto found = copier_.tensors.find(inner.tensor);
    if (found == copier_.tensors.end()) {
      return {inner.tensor, copier_.Exprs(inner.indices), inner.range};
    }
    const Argument& outer = found->second;
    std::vector<ExprId> indices = copier_.Exprs(inner.indices);
    Argument argument{outer.tensor, {}, inner.range};
    size_t next = 0;
    for (ExprId index : outer.indices) {
      bool fill = !index && next < indices.size();
      argument.indices.push_back(fill ? indices[next++] : index);
    }
    argument.indices.insert(argument.indices.end(),
                            indices.begin() + static_cast<std::ptrdiff_t>(next), indices.end());
    while (!argument.indices.empty() && !argument.indices.back()) {
      argument.indices.pop_back();
    }
    return argument;
  }

  Module& module_;
  DeviceCopier copier_;
  std::set<TensorId> absent_;  // parameters that there are not
  std::map<EventId, EventId> events_;
};

}  // namespace

void LeaveOut(CallNode& call, const std::set<TensorId>& absent) {
  std::erase_if(call.args, [&](const Argument& arg) { return absent.contains(arg.tensor); });
}

std::vector<NodeId> InlineNodes(Module& module, const Graph& graph,
                                const std::vector<NodeId>& nodes, const CallNode& call,
                                Deduced deduced) {
  return Inliner(module, graph, call, std::move(deduced)).Block(nodes);
}

std::vector<NodeId>::iterator PlaceOfBuffer(const Module& module, std::vector<NodeId>& nodes) {
  const std::set<TensorId> passed = PassedTensors(module, nodes);
  return std::find_if(nodes.begin(), nodes.end(), [&](NodeId id) {
    const auto* buffer = std::get_if<BufferDecl>(&module.nodes[id]);
    return buffer != nullptr && !passed.contains(buffer->tensor);
  });
}

}  // namespace etc
