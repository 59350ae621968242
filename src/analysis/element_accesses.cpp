#include "analysis/element_accesses.h"

#include "ir/body_visitor.h"

namespace etc {
namespace {

class Collector : BodyVisitor {
 public:
  Collector(const Module& module, const Device& device) : BodyVisitor(module) {
    VisitAxes(device.tasks, AxisOf::For);
    for (SymbolId scalar : device.scalars) {
      variables_.push_back({scalar, module.symbols[scalar].lo, module.symbols[scalar].hi});
    }
    VisitBlock(device.body);
  }
  Collector(const Module& module, const Tensor& tensor) : BodyVisitor(module) {
    for (size_t i = 0; i < tensor.indices.size(); ++i) {
      if (tensor.indices[i]) {
        variables_.push_back({tensor.indices[i], {}, tensor.shape[i]});
      }
    }
    VisitExpr(tensor.value_lo);
    VisitExpr(tensor.value_hi);
  }

  std::vector<ElementAccess> accesses;

 private:
  /// Inside of a scope, whose variables end with it.
  void Within(const Inside& inside) {
    size_t variables = variables_.size();
    inside();
    variables_.resize(variables);
  }

  void AroundBlock(const Inside& inside) override { Within(inside); }
  void AroundLoop(StmtId, const For&, const Inside& inside) override { Within(inside); }
  void AroundRanks(StmtId, const TopK&, const Inside& inside) override { Within(inside); }
  void AroundElements(const TopK&, const Inside& inside) override { Within(inside); }
  void AroundReduction(const Reduce&, const Inside& inside) override { Within(inside); }

  void AroundSide(const BodySide& side, const Inside& inside) override {
    guards_.push_back({side.condition, side.wanted});
    inside();
    guards_.pop_back();
  }

  void OnVariable(const Axis& axis, AxisOf) override {
    variables_.push_back({axis.var, axis.lo, axis.hi});
  }
  void OnLet(const Let& let) override { variables_.push_back({let.symbol, let.value, {}, true}); }
  void OnLetPair(const LetPair& pair) override {
    variables_.push_back({pair.index, pair.reduction, {}, true});
  }

  void OnElement(const BodyElement& element) override {
    accesses.push_back({element.tensor, element.IsWrite(), element.indices, variables_, guards_});
  }

  std::vector<BodyVariable> variables_;
  std::vector<Guard> guards_;
};

}  // namespace

std::vector<ElementAccess> CollectAccesses(const Module& module, const Device& device) {
  return Collector(module, device).accesses;
}

std::vector<ElementAccess> CollectAccesses(const Module& module, const Tensor& tensor) {
  return Collector(module, tensor).accesses;
}

}  // namespace etc
