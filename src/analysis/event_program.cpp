#include "analysis/event_program.h"

namespace etc {
namespace {

using Mark = EventProgram::Mark;

class Builder {
 public:
  Builder(const Module& module, EventProgram& program) : module_(module), program_(program) {}

  void Block(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      std::visit([&](const auto& node) { Add(module_.RangeOf(id), node); }, module_.nodes[id]);
    }
  }

 private:
  void Add(SourceRange, const BufferDecl&) {}
  void Add(SourceRange, const EventDecl& decl) { program_.events.push_back(decl.event); }
  void Add(SourceRange, const Region& region) { Block(region.body); }

  void Add(SourceRange, const Repeat& repeat) {
    size_t enter = program_.order.size();
    program_.order.push_back({Mark::Kind::Enter, 0, repeat.var, repeat.lo, repeat.hi});
    Block(repeat.body);
    program_.order[enter].other = program_.order.size();
    program_.order.push_back({Mark::Kind::Leave, enter, {}, {}, {}});
  }

  void Add(SourceRange range, const CallNode& call) {
    const Device& callee = module_.devices[call.callee];
    Step step{callee.name, callee.tasks, {}, {}, range};
    for (const auto& [edges, refs] :
         {std::pair{&call.waits, &step.waits}, std::pair{&call.notifies, &step.notifies}}) {
      for (const Edge& edge : *edges) {
        for (const EventRef& ref : edge.refs) {
          refs->push_back({&ref, edge.coords, ref.range.IsValid() ? ref.range : range});
        }
      }
    }
    Push(std::move(step));
  }

  void Add(SourceRange range, const Share& share) {
    Step step{module_.devices[share.callee].name, share.axes, {}, {}, range};
    std::vector<SymbolId> coords;
    for (const Axis& axis : share.axes) {
      coords.push_back(axis.var);
    }
    auto add = [&](const std::vector<EventRef>& from, std::vector<TaskRef>& to) {
      for (const EventRef& ref : from) {
        to.push_back({&ref, coords, ref.range.IsValid() ? ref.range : range});
      }
    };
    add(share.range_waits, step.waits);
    add(share.enter_waits, step.waits);
    add(share.waits, step.waits);
    add(share.notifies, step.notifies);
    add(share.leave_notifies, step.notifies);  // each counts once for each task
    Push(std::move(step));
  }

  void Push(Step step) {
    program_.order.push_back({Mark::Kind::Step, program_.steps.size(), {}, {}, {}});
    program_.steps.push_back(std::move(step));
  }

  const Module& module_;
  EventProgram& program_;
};

}  // namespace

EventProgram MakeEventProgram(const Module& module, const Graph& graph) {
  EventProgram program;
  Builder(module, program).Block(graph.body);
  return program;
}

EventProgram MakeEventProgram(const Module& module, const Kernel& kernel) {
  EventProgram program;
  Builder builder(module, program);
  builder.Block(kernel.declarations);
  builder.Block(kernel.body);
  return program;
}

}  // namespace etc
