// What each role of a CTA does in the walk over a kernel's shares.

#include <algorithm>

#include "emit/raise/passes.h"
#include "ir/loader_reads.h"
#include "ir/walk.h"

namespace etc {

namespace {

/// Each role on its own: `preloads` says whether the loader has anything to copy.
void DivideRoles(RaisedShare& share, bool preloads, bool launch) {
  for (size_t i = 0; i < kRoles; ++i) {
    auto role = static_cast<Role>(i);
    RaisedRole& part = share.roles[i];
    bool loader = role == Role::Loader;
    bool scheduler = role == Role::Scheduler;
    // A launch that has not waited knows no ranges yet.
    bool prefetches = share.prefetches && !(launch && share.reads_ranges);
    part.walks = scheduler                ? share.tickets.has_value()
                 : loader                 ? preloads
                 : role == Role::Prefetch ? prefetches
                                          : true;
    part.skips = loader && !preloads && share.tickets;
    part.waits_first =
        share.reads_ranges || (!scheduler && !share.share.range_waits.empty()) ||
        (loader && (!share.behind_wait.empty() || (!share.fetched.empty() && !share.hands_loads)));
    part.after_launches = launch && loader;
    part.reads_flags = !loader && !scheduler;
  }
}

/// Whether shares begin behind the tasks that data gave to those in front of them. All roles must
/// know how many these are. A loader does where it waits for them anyway; to stream past is worth
/// more.
bool FollowsData(const RaisedKernel& kernel) {
  bool any = false, all_preload = true;
  for (const auto& [id, share] : kernel.shares) {
    if (share.tickets) {
      continue;
    }
    any |= share.reads_ranges;
    all_preload &= !share.reads_ranges || kernel.preloading.contains(id);
  }
  return any && kernel.kernel.schedule != ScheduleKind::Kernels &&
         (all_preload || kernel.preloading.empty());
}

/// Whether an implementation may say where it waits: there is a class for it, and nobody looks at
/// how long waits take.
bool MayHandWaits(const Kernel& kernel, const Impl* impl) {
  return impl != nullptr && !impl->header.empty() && !kernel.profile && !kernel.watchdog &&
         !HasChecks(kernel);
}

/// Whether the waits of a task may stand in the middle of it: each is for a counter, which a warp
/// can look at by itself. `via none` needs the barrier of all consumers.
bool HandsWaits(const Module& module, const Kernel& kernel, const Share& share, const Impl* impl) {
  bool counted = std::none_of(share.waits.begin(), share.waits.end(), [&](const EventRef& wait) {
    return module.events[wait.event].realisation == Realisation::None;
  });
  return !share.waits.empty() && counted && MayHandWaits(kernel, impl);
}

/// Whether the loader's waits may stand in the middle of a load: they are for what it fetches
/// alone.
bool HandsLoads(const RaisedKernel& kernel, const RaisedShare& share, const Impl* impl) {
  bool launch = kernel.kernel.schedule == ScheduleKind::Kernels;
  bool waits = launch || !share.share.enter_waits.empty() || !share.share.waits.empty();
  return waits && !share.fetched.empty() && share.behind_wait.empty() && !share.reads_ranges &&
         share.share.range_waits.empty() && MayHandWaits(kernel.kernel, impl);
}

/// Whether a loader copies in the share what nothing in the launch writes, and knows it from the
/// start.
bool IsKnownAhead(const Module& module, const RaisedKernel& kernel, NodeId id) {
  const RaisedShare& share = kernel.shares.at(id);
  const RaisedDevice& callee = kernel.devices[share.device];
  if (!kernel.preloading.contains(id) || share.reads_ranges || share.tickets) {
    return false;
  }
  for (size_t i = 0; i < share.share.args.size(); ++i) {
    const std::vector<TensorId>& preloaded = callee.impl->preloaded;
    const Tensor& argument = module.tensors[share.share.args[i].tensor];
    if (std::ranges::find(preloaded, callee.device.params[i]) != preloaded.end() &&
        (argument.kind != TensorKind::Param || argument.access != Access::In)) {
      return false;
    }
  }
  return true;
}

/// A loader that waits for what says what it copies may look ahead to the shares in front of it, of
/// the next iteration. Others of its kind behind the first do not wait as long.
void LookAhead(const Module& module, RaisedKernel& kernel, const Repeat& repeat) {
  std::vector<NodeId> known;
  for (NodeId id : repeat.body) {
    if (!std::holds_alternative<Share>(module.nodes[id])) {
      return;
    }
    RaisedShare& share = kernel.shares.at(id);
    if (!share.behind_wait.empty()) {
      if (share.throttle && share.throttle->prefetch) {
        share.next = std::move(known);
      }
      return;
    }
    if (IsKnownAhead(module, kernel, id)) {
      known.push_back(id);
    }
  }
}

}  // namespace

void WalkRoles(RaisedModule& raised) {
  for (RaisedKernel& kernel : raised.kernels) {
    for (const ShareSite& site : SharesOf(raised.module, kernel.kernel)) {
      RaisedShare& each = kernel.shares.at(site.share);
      each.reads_ranges = ReadsTensor(raised.module, each.share.axes);
      each.throttle = each.share.throttle ? each.share.throttle : kernel.kernel.throttle;
      // Waits that hold for all tasks come first, so that one object can serve all of them.
      each.one_object = each.share.waits.empty();
      // In a nest, finding the first task takes a walk.
      each.prefetches = raised.arch != Arch::Host && each.loops == 0;
      // The threads that did not wait themselves must not go ahead of the one that did. On the host
      // a barrier costs nothing.
      each.enters_together =
          raised.arch == Arch::Host || each.share.awaits_peers || !each.share.enter_waits.empty();
      const RaisedDevice& callee = kernel.devices[each.device];
      const Impl* impl = callee.impl;
      for (size_t i = 0; impl != nullptr && i < each.share.args.size(); ++i) {
        TensorId argument = each.share.args[i].tensor;
        if (IsReadBehindWait(raised.module, callee.device, callee.device.params[i], argument)) {
          each.behind_wait.insert(i);
          kernel.loaders_read_flags |= raised.module.tensors[argument].flagged;
        }
      }
      each.hands_waits =
          raised.arch != Arch::Host && HandsWaits(raised.module, kernel.kernel, each.share, impl);
      each.hands_loads = raised.arch != Arch::Host && HandsLoads(kernel, each, impl);
      bool preloads = impl != nullptr && (!impl->preloaded.empty() || !impl->fetched.empty());
      DivideRoles(each, preloads, kernel.kernel.schedule == ScheduleKind::Kernels);
      if (preloads) {
        kernel.preloading.insert(site.share);
        kernel.preloading.insert(site.repeats.begin(), site.repeats.end());
      }
    }
    kernel.moves = FollowsData(kernel);
    // Where data move shares, nobody knows yet where they begin. A launch waits for those in front
    // of it, and for nothing else.
    if (!kernel.moves && kernel.kernel.schedule != ScheduleKind::Kernels) {
      for (NodeId id : kernel.preloading) {
        if (const auto* repeat = std::get_if<Repeat>(&raised.module.nodes[id])) {
          LookAhead(raised.module, kernel, *repeat);
        }
      }
    }
    for (auto& [id, share] : kernel.shares) {
      share.moves_others = kernel.moves && share.reads_ranges && !share.tickets;
    }
  }
}

}  // namespace etc
