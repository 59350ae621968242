#include "analysis/same_elements.h"

#include <algorithm>
#include <map>

namespace etc {
namespace {

class ElementComparison {
 public:
  explicit ElementComparison(const Module& module) : module_(module) {}

  bool Same(const EventRef& a, const EventRef& b) {
    bool same = a.axes.size() == b.axes.size() && a.indices.size() == b.indices.size() && !a.peer &&
                !b.peer;
    for (size_t i = 0; same && i < a.axes.size(); ++i) {
      same = Same(a.axes[i].lo, b.axes[i].lo) && Same(a.axes[i].hi, b.axes[i].hi);
      variables_[a.axes[i].var] = b.axes[i].var;
    }
    for (size_t i = 0; same && i < a.indices.size(); ++i) {
      same = a.indices[i].all == b.indices[i].all && Same(a.indices[i].lo, b.indices[i].lo) &&
             Same(a.indices[i].hi, b.indices[i].hi);
    }
    return same && Same(a.guard, b.guard);
  }

 private:
  bool Same(ExprId a, ExprId b) const {
    if (!a || !b) {
      return !a && !b;
    }
    const Expr& mine = module_.exprs[a];
    const Expr& other = module_.exprs[b];
    if (mine.index() != other.index()) {
      return false;
    }
    if (const auto* literal = std::get_if<IntLiteral>(&mine)) {
      return literal->value == std::get<IntLiteral>(other).value;
    }
    if (const auto* ref = std::get_if<SymbolRef>(&mine)) {
      auto renamed = variables_.find(ref->symbol);
      return (renamed == variables_.end() ? ref->symbol : renamed->second) ==
             std::get<SymbolRef>(other).symbol;
    }
    if (const auto* load = std::get_if<Load>(&mine)) {
      return load->tensor == std::get<Load>(other).tensor &&
             Same(load->indices, std::get<Load>(other).indices);
    }
    if (const auto* binary = std::get_if<Binary>(&mine)) {
      const auto& with = std::get<Binary>(other);
      return binary->op == with.op && Same(binary->left, with.left) &&
             Same(binary->right, with.right);
    }
    if (const auto* call = std::get_if<Call>(&mine)) {
      const auto& with = std::get<Call>(other);
      return call->op == with.op && Same(call->args, with.args);
    }
    return false;
  }

  bool Same(const std::vector<ExprId>& a, const std::vector<ExprId>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](ExprId x, ExprId y) { return Same(x, y); });
  }

  const Module& module_;
  std::map<SymbolId, SymbolId> variables_;  // of `a` to those of `b`
};

}  // namespace

bool SameElements(const Module& module, const EventRef& a, const EventRef& b) {
  return ElementComparison(module).Same(a, b);
}

}  // namespace etc
