// Waits, and at last events, that the order does not need. A wait is redundant if without it all
// dependences between tasks are still proved to be in order.
#include <fmt/format.h>

#include <algorithm>

#include "ir/overloaded.h"
#include "ir/printer.h"
#include "schedule/lower.h"
#include "schedule/range_dependences.h"

namespace etc {
namespace {

class Minimisation {
 public:
  Minimisation(Module& module, Graph& graph, const ScheduleOptions& options,
               Diagnostics& diagnostics)
      : module_(module),
        graph_(graph),
        options_(options),
        diagnostics_(diagnostics),
        programs_(MakeCallPrograms(module, graph)),
        program_(programs_.front()),
        dependences_(module, programs_) {}

  void Run() {
    if (program_.open || !AllOrdered()) {
      Remark(graph_.range, fmt::format("every event of `@{}` stays: not all of its "
                                       "dependences are proved to be in order",
                                       graph_.name));
      return;
    }
    for (size_t i = program_.calls.size(); i-- > 0;) {
      for (const TaskEdge& wait : program_.calls[i].waits) {
        redundant_.insert(wait.ref);
        dependences_.Leave(redundant_);
        if (AllOrderedTo(i) && AllOrdered()) {
          Remark(wait.range,
                 fmt::format("`@{}` need not wait for `{}`: other events have the "
                             "same order",
                             program_.calls[i].device->name, Print(module_, *wait.ref)));
        } else {
          redundant_.erase(wait.ref);
        }
      }
    }
    for (const ProgramCall& call : program_.calls) {
      auto& node = std::get<CallNode>(module_.nodes[call.node]);
      Keep(node.waits, [&](const EventRef& ref) { return !redundant_.contains(&ref); });
    }
    RemoveUnused();
  }

 private:
  bool AllOrdered() {
    for (size_t to = 0; to < program_.calls.size(); ++to) {
      if (!AllOrderedTo(to)) {
        return false;
      }
    }
    return true;
  }

  bool AllOrderedTo(size_t to) {
    const ProgramCall& last = program_.calls[to];
    for (const ProgramCall& first : program_.calls) {
      for (const Dependence& dependence : DependencesBetween(first, last)) {
        if (!dependences_.IsOrdered(dependence)) {
          return false;
        }
      }
    }
    return true;
  }

  template <class F>
  static void Keep(std::vector<Edge>& edges, const F& wanted) {
    for (Edge& edge : edges) {
      std::vector<EventRef> kept;
      std::copy_if(edge.refs.begin(), edge.refs.end(), std::back_inserter(kept), wanted);
      edge.refs = std::move(kept);
    }
    std::erase_if(edges, [](const Edge& edge) { return edge.refs.empty(); });
  }

  /// Removes the events that nothing waits for any more.
  void RemoveUnused() {
    std::set<EventId> used;
    for (const ProgramCall& call : program_.calls) {
      for (const Edge& edge : std::get<CallNode>(module_.nodes[call.node]).waits) {
        for (const EventRef& ref : edge.refs) {
          used.insert(ref.event);
        }
      }
    }
    for (const ProgramCall& call : program_.calls) {
      auto& node = std::get<CallNode>(module_.nodes[call.node]);
      Keep(node.notifies, [&](const EventRef& ref) { return used.contains(ref.event); });
    }
    Undeclare(graph_.body, used);
  }

  void Undeclare(std::vector<NodeId>& nodes, const std::set<EventId>& used) {
    std::erase_if(nodes, [&](NodeId id) {
      const auto* declaration = std::get_if<EventDecl>(&module_.nodes[id]);
      if (declaration == nullptr || used.contains(declaration->event)) {
        return false;
      }
      const Event& event = module_.events[declaration->event];
      Remark(event.range, fmt::format("`%{}` is removed: nothing waits for it", event.name));
      return true;
    });
    for (NodeId id : nodes) {
      std::visit(Overloaded{
                     [&](Region& region) { Undeclare(region.body, used); },
                     [](const Repeat&) {},  // declares no events
                     [](const OneOf<BufferDecl, EventDecl, CallNode, Share, Dispatch> auto&) {},
                 },
                 module_.nodes[id]);
    }
  }

  void Remark(SourceRange range, std::string message) {
    if (options_.remarks) {
      diagnostics_.Remark(DiagnosticKind::RedundantEvent, range, std::move(message));
    }
  }

  Module& module_;
  Graph& graph_;
  const ScheduleOptions& options_;
  Diagnostics& diagnostics_;
  std::vector<CallProgram> programs_;
  const CallProgram& program_;  // the first: they differ in the sizes alone
  RangeDependences dependences_;
  std::set<const EventRef*> redundant_;
};

}  // namespace

bool MinimiseEvents(Module& module, const ScheduleOptions& options, Diagnostics& diagnostics) {
  for (const Item& item : module.items) {
    const auto* id = std::get_if<GraphId>(&item);
    if (id != nullptr && HasEvents(module, module.graphs[*id])) {
      Minimisation(module, module.graphs[*id], options, diagnostics).Run();
    }
  }
  return true;
}

}  // namespace etc
