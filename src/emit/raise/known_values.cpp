#include "emit/raise/known_values.h"

namespace etc {

KnownValues::KnownValues(const RaisedKernel& raised)
    : module_(raised.module), sizes_(RangesOf(raised.module, raised.kernel)) {
  for (const ShareSite& site : SharesOf(raised.module, raised.kernel)) {
    for (NodeId id : site.repeats) {
      const Repeat& repeat = std::get<Repeat>(raised.module.nodes[id]);
      auto lo = Of(repeat.lo), hi = Of(repeat.hi);
      if (lo && hi && lo->lo < hi->hi) {
        intervals_[repeat.var] = {lo->lo, hi->hi - 1};
      }
    }
  }
}

}  // namespace etc
