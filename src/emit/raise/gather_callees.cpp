#include <algorithm>

#include "emit/raise/callees.h"
#include "emit/raise/passes.h"

namespace etc {

void GatherCallees(RaisedModule& raised) {
  for (RaisedKernel& kernel : raised.kernels) {
    for (DeviceId id : DevicesOf(raised.module, kernel.kernel)) {
      const Device& device = raised.module.devices[id];
      kernel.devices.push_back({device, FindImpl(device, Spelling(raised.arch))});
    }
    for (const ShareSite& site : SharesOf(raised.module, kernel.kernel)) {
      const Share& share = std::get<Share>(raised.module.nodes[site.share]);
      const Device* callee = &raised.module.devices[share.callee];
      auto device = std::find_if(kernel.devices.begin(), kernel.devices.end(),
                                 [&](const RaisedDevice& each) { return &each.device == callee; });
      kernel.shares.emplace(
          site.share, RaisedShare{share, static_cast<size_t>(device - kernel.devices.begin())});
    }
    kernel.flagged = FlaggedParams(raised.module, kernel.kernel);
    kernel.computed = ComputedParams(raised.module, kernel.kernel);
  }
}

}  // namespace etc
