#include "analysis/same_reductions.h"

#include "analysis/same_expr.h"

namespace etc {

bool SameReductions(const Module& module, const Reduce& a, const Reduce& b) {
  SameWords words(module);
  return a.op == b.op && words.SameAxes(a.axes, b.axes) && words.Same(a.body, b.body);
}

}  // namespace etc
