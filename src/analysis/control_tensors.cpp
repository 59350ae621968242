#include "analysis/control_tensors.h"

#include "ir/walk.h"

namespace etc {

std::set<TensorId> ControlTensors(const Module& module, const CallProgram& program) {
  std::set<TensorId> tensors;
  auto add = [&](ExprId id) {
    if (const auto* load = std::get_if<Load>(&module.exprs[id])) {
      tensors.insert(load->tensor);
    }
  };
  for (EventId event : program.events) {
    VisitExprs(module, module.events[event].count, add);
  }
  for (const ProgramCall& call : program.calls) {
    for (const Axis& axis : call.axes) {
      VisitExprs(module, axis.lo, add);
      VisitExprs(module, axis.hi, add);
    }
    for (const auto* edges :
         {&call.waits, &call.notifies, &call.after_waits, &call.after_arrivals}) {
      for (const TaskEdge& edge : *edges) {
        VisitExprs(module, *edge.ref, add);
      }
    }
    for (const TaskEdge& arrival : call.after_arrivals) {
      VisitExprs(module, module.events[arrival.ref->event].count, add);
    }
  }
  return tensors;
}

}  // namespace etc
