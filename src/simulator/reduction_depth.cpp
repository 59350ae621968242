#include "simulator/reduction_depth.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/body_visitor.h"

namespace etc {
namespace {

class DepthWalk : BodyVisitor {
 public:
  DepthWalk(const Module& module, const Device& device) : BodyVisitor(module), module_(module) {
    VisitBlock(device.body);
  }
  int64_t deepest() const { return deepest_; }

 private:
  bool Wants(const Stmt&) override {
    now_ = 0;
    return true;
  }

  /// One more than what is inside needs.
  void Reduce(const Inside& inside) {
    int64_t beside = std::exchange(now_, 0);
    inside();
    deepest_ = std::max(deepest_, now_ + 1);
    now_ = std::max(beside, now_ + 1);
  }
  void AroundReduction(const etc::Reduce&, const Inside& inside) override { Reduce(inside); }
  void AroundElements(const TopK&, const Inside& inside) override { Reduce(inside); }

  void OnLet(const Let& let) override { symbols_[let.symbol] = now_; }
  void OnLetPair(const LetPair& pair) override {
    symbols_[pair.value] = symbols_[pair.index] = now_;
  }
  void OnElement(const BodyElement& element) override {
    int64_t& depth = tensors_[element.tensor];
    if (element.IsWrite()) {
      depth = std::max(depth, now_);
    } else {
      now_ = std::max(now_, depth);
    }
  }
  void OnExpr(ExprId id) override {
    const auto* ref = std::get_if<SymbolRef>(&module_.exprs[id]);
    auto found = ref == nullptr ? symbols_.end() : symbols_.find(ref->symbol);
    if (found != symbols_.end()) {
      now_ = std::max(now_, found->second);
    }
  }

  const Module& module_;
  std::map<SymbolId, int64_t> symbols_;
  std::map<TensorId, int64_t> tensors_;
  int64_t now_ = 0;  // of what the statement has read so far
  int64_t deepest_ = 0;
};

}  // namespace

int64_t ReductionDepth(const Module& module, const Device& device) {
  return DepthWalk(module, device).deepest();
}

}  // namespace etc
