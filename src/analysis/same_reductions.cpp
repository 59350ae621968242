#include "analysis/same_reductions.h"

#include <algorithm>
#include <map>

#include "analysis/same_expr.h"

namespace etc {
namespace {

class ReductionComparison {
 public:
  explicit ReductionComparison(const Module& module) : module_(module) {}

  bool Same(const Reduce& a, const Reduce& b) {
    bool same = a.op == b.op && a.axes.size() == b.axes.size();
    for (size_t i = 0; same && i < a.axes.size(); ++i) {
      same = Same(a.axes[i].lo, b.axes[i].lo) && Same(a.axes[i].hi, b.axes[i].hi);
      variables_[a.axes[i].var] = b.axes[i].var;
    }
    return same && Same(a.body, b.body);
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

bool SameReductions(const Module& module, const Reduce& a, const Reduce& b) {
  return ReductionComparison(module).Same(a, b);
}

}  // namespace etc
