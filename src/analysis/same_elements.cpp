#include "analysis/same_elements.h"

#include <algorithm>
#include <map>

#include "analysis/same_expr.h"

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
    return SameExpr(module_, a, b, variables_, [this](const Load& load, const Load& other) {
      return load.tensor == other.tensor &&
             std::equal(load.indices.begin(), load.indices.end(), other.indices.begin(),
                        other.indices.end(), [&](ExprId x, ExprId y) { return Same(x, y); });
    });
  }

  const Module& module_;
  std::map<SymbolId, SymbolId> variables_;  // of `a` to those of `b`
};

}  // namespace

bool SameElements(const Module& module, const EventRef& a, const EventRef& b) {
  return ElementComparison(module).Same(a, b);
}

}  // namespace etc
