#include "analysis/sets/used_dims.h"

#include <algorithm>
#include <vector>

#include "ir/requirements.h"
#include "ir/walk.h"

namespace etc {
namespace {

class Collector {
 public:
  explicit Collector(const Module& module) : module_(module) {}

  void Add(const CallProgram& program) {
    std::for_each(program.params.begin(), program.params.end(), [&](TensorId id) { Add(id); });
    std::for_each(program.events.begin(), program.events.end(), [&](EventId id) { Add(id); });
    for (const ProgramMark& mark : program.order) {
      Add(mark.lo);
      Add(mark.hi);
    }
    for (const ProgramCall& call : program.calls) {
      Add(call);
    }
  }

  /// Of requirements, each that has one of the dimensions adds its others.
  void AddTied() {
    std::vector<ExprId> conditions = LaunchRequirements(module_);
    for (size_t before = 0; before != dims_.size();) {
      before = dims_.size();
      for (ExprId condition : conditions) {
        std::vector<SymbolId> dims = DimsIn(module_, condition);
        if (std::any_of(dims.begin(), dims.end(),
                        [&](SymbolId dim) { return dims_.contains(dim); })) {
          dims_.insert(dims.begin(), dims.end());
        }
      }
    }
  }

  std::set<SymbolId> Take() { return std::move(dims_); }

 private:
  void Add(ExprId expr) {
    VisitExprs(module_, expr, [&](ExprId id) { AddAlone(id); });
  }

  /// Of an expression itself, not of those in it. The ends of a range are constants.
  void AddAlone(ExprId id) {
    const Expr& expr = module_.exprs[id];
    if (const auto* ref = std::get_if<SymbolRef>(&expr); ref != nullptr && id != inside_bound_) {
      AddSymbol(ref->symbol);
    } else if (const auto* load = std::get_if<Load>(&expr)) {
      Add(load->tensor);
    } else if (const auto* call = std::get_if<Call>(&expr)) {
      bool of_range = KindOf(call->op) == IntrinsicKind::Limit;
      inside_bound_ = of_range && !call->args.empty() ? call->args[0] : inside_bound_;
    }
  }

  void AddSymbol(SymbolId id) {
    const Symbol& symbol = module_.symbols[id];
    if (symbol.kind == SymbolKind::Dim) {
      dims_.insert(id);
    } else if (symbol.kind != SymbolKind::Const && seen_symbols_.insert(id).second) {
      Add(symbol.value);
      Add(symbol.lo);
      Add(symbol.hi);
    }
  }

  void Add(TensorId id) {
    if (!id || !seen_tensors_.insert(id).second) {
      return;
    }
    const Tensor& tensor = module_.tensors[id];
    Add(tensor.shape);
    Add(tensor.value_lo);
    Add(tensor.value_hi);
    Add(tensor.offset);
    Add(tensor.counts);
  }

  void Add(EventId id) {
    if (!seen_events_.insert(id).second) {
      return;
    }
    const Event& event = module_.events[id];
    for (const EventDim& dim : event.dims) {
      Add(dim.extent);
    }
    Add(event.count);
  }

  void Add(const std::vector<ExprId>& exprs) {
    std::for_each(exprs.begin(), exprs.end(), [&](ExprId expr) { Add(expr); });
  }

  void Add(const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      Add(axis.lo);
      Add(axis.hi);
    }
  }

  void Add(const std::vector<TaskEdge>& edges) {
    for (const TaskEdge& edge : edges) {
      Add(edge.ref->event);
      VisitExprs(module_, *edge.ref, [&](ExprId id) { AddAlone(id); });
    }
  }

  void Add(const ProgramCall& call) {
    Add(call.axes);
    Add(call.scalars);
    Add(call.waits);
    Add(call.notifies);
    Add(call.after_waits);
    Add(call.after_arrivals);
    for (const Argument& argument : call.args) {
      Add(argument.tensor);
      Add(argument.indices);
    }
    for (const EnclosingRepeat& repeat : call.repeats) {
      Add(repeat.lo);
      Add(repeat.hi);
    }
    if (seen_devices_.insert(call.callee).second) {
      Add(*call.device);
    }
  }

  void Add(const Device& device) {
    Add(device.tasks);
    std::for_each(device.params.begin(), device.params.end(), [&](TensorId id) { Add(id); });
    std::for_each(device.scalars.begin(), device.scalars.end(),
                  [&](SymbolId id) { AddSymbol(id); });
    VisitExprs(module_, device.body, [&](ExprId id) { AddAlone(id); });
  }

  const Module& module_;
  ExprId inside_bound_;  // the argument of `lower` or `upper`
  std::set<SymbolId> dims_;
  std::set<SymbolId> seen_symbols_;
  std::set<TensorId> seen_tensors_;
  std::set<EventId> seen_events_;
  std::set<DeviceId> seen_devices_;
};

}  // namespace

std::set<SymbolId> UsedDims(const Module& module, const CallProgram& program) {
  if (!program.sizes.empty()) {
    return {};
  }
  Collector collector(module);
  collector.Add(program);
  collector.AddTied();
  return collector.Take();
}

}  // namespace etc
