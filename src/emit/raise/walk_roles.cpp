// What each role of a CTA does in the walk over a kernel's shares.

#include "emit/raise/passes.h"
#include "ir/walk.h"

namespace etc {

void WalkRoles(RaisedModule& raised) {
  for (RaisedKernel& kernel : raised.kernels) {
    for (const ShareSite& site : SharesOf(raised.module, kernel.kernel)) {
      RaisedShare& each = kernel.shares.at(site.share);
      each.reads_ranges = ReadsTensor(raised.module, each.share.axes);
      each.throttle = each.share.throttle ? each.share.throttle : kernel.kernel.throttle;
      // Waits that hold for all tasks come first, so that one object can serve all of them.
      each.one_object = each.share.waits.empty();
      const Impl* impl = kernel.devices[each.device].impl;
      if (impl != nullptr && !impl->preloaded.empty()) {
        kernel.preloading.insert(site.share);
        kernel.preloading.insert(site.repeats.begin(), site.repeats.end());
      }
    }
  }
}

}  // namespace etc
