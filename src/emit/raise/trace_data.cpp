// The indices that debug checks look at: those whose value depends on the elements of tensors. What
// depends on coordinates and sizes alone is proved.

#include "emit/raise/passes.h"
#include "ir/body_visitor.h"
#include "ir/walk.h"

namespace etc {
namespace {

class Tracer : BodyVisitor {
 public:
  Tracer(const Module& module, RaisedDevice& device)
      : BodyVisitor(module), module_(module), device_(device) {}

  void Run() {
    VisitAxes(device_.device.tasks, AxisOf::For);
    VisitBlock(device_.device.body);
  }

 private:
  void OnVariable(const Axis& axis, AxisOf of) override {
    if (DependsOnData(axis.lo) || DependsOnData(axis.hi)) {
      data_.insert(axis.var);
    }
    if (of == AxisOf::Ranks || of == AxisOf::Elements) {
      Note({axis.lo, axis.hi});
    }
  }
  void OnLet(const Let& let) override {
    if (DependsOnData(let.value)) {
      data_.insert(let.symbol);
    }
  }
  void OnLetPair(const LetPair& pair) override {
    data_.insert({pair.value, pair.index});  // both are found among elements
  }
  void OnElement(const BodyElement& element) override {
    Note({element.peer});
    Note(element.indices);
  }

  bool DependsOnData(ExprId expr) const {
    return bool{FindExpr(module_, expr, [&](const Expr& e) {
      const auto* ref = std::get_if<SymbolRef>(&e);
      return std::holds_alternative<Load>(e) || (ref != nullptr && data_.contains(ref->symbol));
    })};
  }

  void Note(const std::vector<ExprId>& exprs) {
    for (ExprId id : exprs) {
      if (DependsOnData(id)) {
        device_.from_data.insert(id);
      }
    }
  }

  const Module& module_;
  RaisedDevice& device_;
  std::set<SymbolId> data_;  // symbols whose value depends on the elements of tensors
};

}  // namespace

void TraceData(RaisedModule& raised) {
  for (RaisedKernel& kernel : raised.kernels) {
    if (kernel.kernel.check_accesses) {
      for (RaisedDevice& device : kernel.devices) {
        Tracer(raised.module, device).Run();
      }
    }
  }
}

}  // namespace etc
