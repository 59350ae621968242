#include "analysis/same_elements.h"

#include "analysis/same_expr.h"

namespace etc {

bool SameElements(const Module& module, const EventRef& a, const EventRef& b) {
  SameWords words(module);
  bool same =
      a.indices.size() == b.indices.size() && !a.peer && !b.peer && words.SameAxes(a.axes, b.axes);
  for (size_t i = 0; same && i < a.indices.size(); ++i) {
    same = a.indices[i].all == b.indices[i].all && words.Same(a.indices[i].lo, b.indices[i].lo) &&
           words.Same(a.indices[i].hi, b.indices[i].hi);
  }
  return same && words.Same(a.guard, b.guard);
}

}  // namespace etc
