#include <algorithm>

#include "emit/raise/callees.h"
#include "emit/raise/passes.h"

namespace etc {
namespace {

void GatherTickets(const Module& module, const ShareSite& site, RaisedShare& share) {
  const auto& dispatch = std::get<Dispatch>(module.nodes[site.dispatch]);
  auto mine = std::find(dispatch.cases.begin(), dispatch.cases.end(), site.share);
  share.tickets = RaisedTickets{dispatch.tickets, IterationsOf(module, site),
                                static_cast<size_t>(mine - dispatch.cases.begin()),
                                dispatch.cases.size(), dispatch.ahead};
}

}  // namespace

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
      RaisedShare& raised_share =
          kernel.shares
              .emplace(site.share,
                       RaisedShare{share, static_cast<size_t>(device - kernel.devices.begin())})
              .first->second;
      if (site.dispatch) {
        GatherTickets(raised.module, site, raised_share);
        kernel.dispatching.insert(site.share);
        kernel.dispatching.insert(site.repeats.begin(), site.repeats.end());
        kernel.most_ahead = std::max(kernel.most_ahead, raised_share.tickets->ahead);
        raised.has_dispatches = true;
      }
    }
    kernel.flagged = FlaggedParams(raised.module, kernel.kernel);
    kernel.computed = ComputedParams(raised.module, kernel.kernel);
  }
}

}  // namespace etc
