#include "emit/raise/graph_dims.h"

#include <algorithm>
#include <set>

#include "emit/raise/callees.h"
#include "ir/requirements.h"
#include "ir/share_refs.h"
#include "ir/walk.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

class Collector {
 public:
  explicit Collector(const Module& module) : module_(module) {}

  void Add(const Kernel& kernel) {
    if (module_.mesh) {
      used_.insert(module_.mesh->size);  // says for how many ranks a launch is
    }
    for (const Where& where : kernel.where) {
      used_.insert(where.dim);
    }
    AddTensors(kernel.params);
    for (SymbolId value : kernel.values) {
      Add(module_.symbols[value].value);
    }
    if (kernel.profile) {
      Add(kernel.profile->spans);
    }
    AddChecks(kernel.checks);
    AddNodes(kernel.declarations);
    AddNodes(kernel.body);
    for (DeviceId id : DevicesOf(module_, kernel)) {
      AddDevice(module_.devices[id]);
    }
  }

  std::vector<SymbolId> InOrder() {
    for (bool grows = true; grows;) {
      grows = false;
      for (ExprId condition : LaunchRequirements(module_)) {
        std::vector<SymbolId> related = DimsIn(module_, condition);
        auto is_used = [&](SymbolId dim) { return used_.contains(dim); };
        size_t before = used_.size();
        if (std::any_of(related.begin(), related.end(), is_used)) {
          used_.insert(related.begin(), related.end());
        }
        grows |= used_.size() != before;
      }
    }
    std::vector<SymbolId> dims = DimsOf(module_);
    std::erase_if(dims, [&](SymbolId dim) { return !used_.contains(dim); });
    return dims;
  }

 private:
  void Add(ExprId id) {
    if (id) {
      std::vector<SymbolId> dims = DimsIn(module_, id);
      used_.insert(dims.begin(), dims.end());
    }
  }

  void AddAxes(const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      Add(axis.lo);
      Add(axis.hi);
    }
  }

  void AddTensors(const std::vector<TensorId>& ids) {
    for (TensorId id : ids) {
      const Tensor& tensor = module_.tensors[id];
      std::for_each(tensor.shape.begin(), tensor.shape.end(), [&](ExprId extent) { Add(extent); });
      Add(tensor.value_lo);
      Add(tensor.value_hi);
      Add(tensor.offset);
    }
  }

  void AddChecks(const std::vector<Check>& checks) {
    for (const Check& check : checks) {
      Add(check.value_lo);
      Add(check.value_hi);
      for (const auto* slice : {&check.slice, &check.counts_slice}) {
        std::for_each(slice->begin(), slice->end(), [&](ExprId index) { Add(index); });
      }
    }
  }

  void AddRefs(const std::vector<EventRef>& refs) {
    for (const EventRef& ref : refs) {
      for (const EventIndex& index : ref.indices) {
        Add(index.lo);
        Add(index.hi);
      }
      AddAxes(ref.axes);
      Add(ref.guard);
      Add(ref.peer);
    }
  }

  void AddNodes(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      std::visit(Overloaded{
                     [&](const BufferDecl& buffer) { AddTensors({buffer.tensor}); },
                     [&](const EventDecl& declaration) { AddEvent(declaration.event); },
                     [&](const Repeat& repeat) {
                       Add(repeat.lo);
                       Add(repeat.hi);
                       AddNodes(repeat.body);
                     },
                     [&](const Share& share) { AddShare(share); },
                     [&](const Dispatch& dispatch) {
                       Add(dispatch.capacity);
                       Add(dispatch.tickets);
                       AddNodes(dispatch.cases);
                     },
                     [](const OneOf<CallNode, Region> auto&) { ETC_CHECK(!"a graph's node"); },
                 },
                 module_.nodes[id]);
    }
  }

  void AddEvent(EventId id) {
    const Event& event = module_.events[id];
    for (const EventDim& dim : event.dims) {
      Add(dim.extent);
    }
    Add(event.count);
  }

  void AddShare(const Share& share) {
    AddAxes(share.axes);
    Add(share.first);
    for (const std::vector<EventRef>* refs : RefsOf(share)) {
      AddRefs(*refs);
    }
    std::for_each(share.scalars.begin(), share.scalars.end(), [&](ExprId value) { Add(value); });
    AddChecks(share.range_checks);
    AddChecks(share.enter_checks);
    AddChecks(share.task_checks);
    for (const Argument& arg : share.args) {
      std::for_each(arg.indices.begin(), arg.indices.end(), [&](ExprId index) { Add(index); });
    }
  }

  void AddDevice(const Device& device) {
    AddTensors(device.params);
    for (SymbolId scalar : device.scalars) {
      Add(module_.symbols[scalar].lo);
      Add(module_.symbols[scalar].hi);
    }
    AddAxes(device.tasks);
    VisitExprs(module_, device.body, [&](ExprId id) {
      const auto* ref = std::get_if<SymbolRef>(&module_.exprs[id]);
      if (ref != nullptr && module_.symbols[ref->symbol].kind == SymbolKind::Dim) {
        used_.insert(ref->symbol);
      }
    });
    for (const Impl& impl : device.impls) {
      for (SymbolId dim : DimsOf(module_)) {
        if (impl.text.find(module_.symbols[dim].name) != std::string::npos) {
          used_.insert(dim);  // the text is C++, and may say `args.dims.NAME`
        }
      }
    }
  }

  const Module& module_;
  std::set<SymbolId> used_;
};

}  // namespace

std::vector<SymbolId> GraphDims(const Module& module, const std::string& graph) {
  Collector collector(module);
  for (const Kernel& kernel : module.kernels) {
    if (kernel.graph == graph) {
      collector.Add(kernel);
    }
  }
  return collector.InOrder();
}

}  // namespace etc
