#include <algorithm>

#include "emit/raise/callees.h"
#include "emit/raise/passes.h"
#include "ir/queue.h"
#include "support/diagnostics.h"

namespace etc {
namespace {

void GatherTickets(const Module& module, const ShareSite& site, RaisedShare& share) {
  const auto& dispatch = std::get<Dispatch>(module.nodes[site.dispatch]);
  auto mine = std::find(dispatch.cases.begin(), dispatch.cases.end(), site.share);
  share.tickets = RaisedTickets{dispatch.tickets, IterationsOf(module, site),
                                static_cast<size_t>(mine - dispatch.cases.begin()),
                                dispatch.cases.size(), dispatch.ahead};
  share.tickets->capacity = dispatch.capacity;
  share.tickets->counters = DispatchCounters(module, dispatch);
}

/// The case of a dispatch that an element of the trigger pushes.
NodeId PushedBy(const Module& module, const Dispatch& dispatch, EventId trigger) {
  auto is_pushed = [&](NodeId id) {
    const auto& on = std::get<Share>(module.nodes[id]).pushed_by;
    return on && on->event == trigger;
  };
  auto found = std::find_if(dispatch.cases.begin(), dispatch.cases.end(), is_pushed);
  ETC_CHECK(found != dispatch.cases.end());
  return *found;
}

/// Of all dispatches that are queues the order of their cases, and what arrives where.
void GatherQueues(RaisedKernel& kernel) {
  const Module& module = kernel.module;
  for (const ShareSite& site : SharesOf(module, kernel.kernel)) {
    if (!site.dispatch || !std::get<Dispatch>(module.nodes[site.dispatch]).capacity) {
      continue;
    }
    const auto& dispatch = std::get<Dispatch>(module.nodes[site.dispatch]);
    RaisedQueue& queue = kernel.queues[site.dispatch];
    RaisedShare& share = kernel.shares.at(site.share);
    share.tickets->pushed = share.share.pushed_by.has_value();
    if (share.tickets->pushed && !queue.pushed.empty()) {
      share.tickets->behind = kernel.shares.at(queue.pushed.back()).tickets->place;
    }
    (share.tickets->pushed ? queue.pushed : queue.from_start).push_back(site.share);
    share.tickets->by_push = ArriveByPush(module, share.share);
    for (const EventRef& ref : share.share.arrivals) {
      share.arrivals.push_back({ref, PushedBy(module, dispatch, ref.event), site.repeats.size()});
    }
    for (const EventRef& ref : share.share.after_arrivals) {
      share.after_arrivals.push_back(
          {ref, PushedBy(module, dispatch, ref.event), site.repeats.size()});
    }
    queue.counts_pushes = CountsPushes(module, dispatch);
  }
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
    GatherQueues(kernel);
    raised.has_queues |= !kernel.queues.empty();
    for (const auto& [id, queue] : kernel.queues) {
      raised.has_counted_queues |= queue.counts_pushes;
    }
    kernel.flagged = ParamsWithFlags(raised.module, kernel.kernel, &Tensor::flagged);
    kernel.phased = ParamsWithFlags(raised.module, kernel.kernel, &Tensor::phased);
    kernel.computed = ComputedParams(raised.module, kernel.kernel);
  }
}

}  // namespace etc
