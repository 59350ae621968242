#include "ir/unique_names.h"

#include <set>
#include <string>
#include <utility>

#include "ir/body_visitor.h"
#include "ir/overloaded.h"
#include "ir/walk.h"
#include "support/unique_name.h"

namespace etc {
namespace {

class Namer : BodyVisitor {
 public:
  explicit Namer(Module& module) : BodyVisitor(module), module_(module) {}

  /// Whether a variable has another name now. One that two scopes declare may then hide another in
  /// the scope that was visited first.
  bool Run() {
    Declare(module_.sms);
    for (const Item& item : module_.items) {
      std::visit(
          Overloaded{
              [&](SymbolId id) { TopLevel(id); },
              [&](DeviceId id) { Visit(module_.devices[id]); },
              [&](KernelId id) { Visit(module_.kernels[id]); },
              [](const OneOf<ImportId, Require, ConfigMemberId, FunctionId, GraphId> auto&) {},
          },
          item);
    }
    return renamed_;
  }

 private:
  void Declare(SymbolId id) {
    if (!id || declared_.contains(id)) {
      return;
    }
    Symbol& symbol = module_.symbols[id];
    if (symbol.kind == SymbolKind::Scalar && taken_.contains(symbol.name)) {
      return;
    }
    std::string name = UniqueName(symbol.name, taken_);
    renamed_ |= name != symbol.name;
    symbol.name = std::move(name);
    declared_.insert(id);
    scope_.push_back(id);
  }

  /// What `inside` declares ends with it.
  template <class F>
  void Scope(const F& inside) {
    size_t outer = scope_.size();
    inside();
    for (; scope_.size() > outer; scope_.pop_back()) {
      taken_.erase(module_.symbols[scope_.back()].name);
      declared_.erase(scope_.back());
    }
  }

  void TopLevel(SymbolId id) {
    Declare(id);
    if (module_.mesh && module_.mesh->size == id) {
      Declare(module_.rank);
    }
  }

  void Visit(const Device& device) {
    Scope([&] {
      for (SymbolId scalar : device.scalars) {
        Declare(scalar);
      }
      Visit(device.params);
      VisitAxes(device.tasks, AxisOf::For);
      VisitBlock(device.body);
    });
  }

  void Visit(const Kernel& kernel) {
    Scope([&] {
      Visit(kernel.params);
      Visit(kernel.checks);
      for (SymbolId value : kernel.values) {
        VisitExpr(module_.symbols[value].value);
        Declare(value);
      }
      Visit(kernel.declarations);
      Visit(kernel.body);
    });
  }

  void Visit(const std::vector<TensorId>& params) {
    for (TensorId id : params) {
      const Tensor& tensor = module_.tensors[id];
      Scope([&] {
        for (SymbolId index : tensor.indices) {
          Declare(index);
        }
        VisitAll(tensor.shape);
        VisitExpr(tensor.value_lo);
        VisitExpr(tensor.value_hi);
      });
    }
  }

  void Visit(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      std::visit(
          Overloaded{
              [&](const BufferDecl& buffer) { VisitAll(module_.tensors[buffer.tensor].shape); },
              [&](const EventDecl& decl) { Visit(module_.events[decl.event]); },
              [&](const Repeat& repeat) {
                Scope([&] {
                  VisitExpr(repeat.lo);
                  VisitExpr(repeat.hi);
                  Declare(repeat.var);
                  Visit(repeat.body);
                });
              },
              [&](const Share& share) { Visit(share); },
              [&](const Dispatch& dispatch) { Visit(dispatch.cases); },
              [](const OneOf<CallNode, Region> auto&) {},  // of graphs
          },
          module_.nodes[id]);
    }
  }

  void Visit(const Event& event) {
    Scope([&] {
      for (const EventDim& dim : event.dims) {
        VisitExpr(dim.extent);
        Declare(dim.var);
      }
      VisitExpr(event.count);
    });
  }

  void Visit(const Share& share) {
    Scope([&] {
      VisitExpr(share.first);
      VisitAxes(share.axes, AxisOf::For);
      for (const Argument& argument : share.args) {
        VisitAll(argument.indices);
      }
      VisitAll(share.scalars);
      if (share.pushed_by) {
        Visit(*share.pushed_by);
      }
      for (const auto* refs :
           {&share.arrivals, &share.after_waits, &share.after_arrivals, &share.range_waits,
            &share.enter_waits, &share.waits, &share.notifies, &share.leave_notifies}) {
        for (const EventRef& ref : *refs) {
          Visit(ref);
        }
      }
      for (const auto* checks : {&share.range_checks, &share.enter_checks, &share.task_checks}) {
        Visit(*checks);
      }
    });
  }

  void Visit(const EventRef& ref) {
    Scope([&] {
      VisitAxes(ref.axes, AxisOf::For);
      for (const EventIndex& index : ref.indices) {
        VisitExpr(index.lo);
        VisitExpr(index.hi);
      }
      VisitExpr(ref.guard);
      VisitExpr(ref.peer);
    });
  }

  void Visit(const std::vector<Check>& checks) {
    for (const Check& check : checks) {
      Scope([&] {
        VisitAll(check.slice);
        VisitAll(check.counts_slice);
        for (SymbolId index : check.indices) {
          Declare(index);
        }
        VisitExpr(check.value_lo);
        VisitExpr(check.value_hi);
      });
    }
  }

  void AroundBlock(const Inside& inside) override { Scope(inside); }
  void AroundLoop(StmtId, const For&, const Inside& inside) override { Scope(inside); }
  void AroundRanks(StmtId, const TopK&, const Inside& inside) override { Scope(inside); }
  void AroundElements(const TopK&, const Inside& inside) override { Scope(inside); }
  void AroundReduction(const Reduce&, const Inside& inside) override { Scope(inside); }
  void OnVariable(const Axis& axis, AxisOf) override { Declare(axis.var); }
  void OnLet(const Let& let) override { Declare(let.symbol); }
  void OnLetPair(const LetPair& pair) override {
    Declare(pair.value);
    Declare(pair.index);
  }

  Module& module_;
  std::set<std::string> taken_;
  std::set<SymbolId> declared_;
  std::vector<SymbolId> scope_;  // the same in order
  bool renamed_ = false;
};

}  // namespace

void MakeNamesUnique(Module& module) {
  while (Namer(module).Run()) {
  }
}

}  // namespace etc
