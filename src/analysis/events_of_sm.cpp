#include "analysis/events_of_sm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "ir/checked.h"
#include "ir/evaluate.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// Whether an implementation of the callee may leave the end of its tasks to another role than the
/// consumers: a class may have an epilogue warp.
bool MayEndElsewhere(const Device& callee) {
  return std::any_of(callee.impls.begin(), callee.impls.end(),
                     [](const Impl& impl) { return !impl.header.empty(); });
}

bool Fetches(const Device& callee) {
  return std::any_of(callee.impls.begin(), callee.impls.end(),
                     [](const Impl& impl) { return !impl.fetched.empty(); });
}

class Search {
 public:
  Search(const Module& module, const Kernel& kernel, EventId event, Realisation via)
      : module_(module), kernel_(kernel), event_(event), via_(via) {}

  std::optional<ViaObstacle> Run() const {
    const Event& event = module_.events[event_];
    if (event.trigger) {
      return ViaObstacle{event.range, "a trigger counts what all SMs are given"};
    }
    if (event.symmetric) {
      return ViaObstacle{event.range, "peers notify a symmetric event"};
    }
    if (module_.mesh) {
      return ViaObstacle{event.range, "the program has a mesh"};
    }
    if (kernel_.schedule != ScheduleKind::Static) {
      return ViaObstacle{kernel_.range, fmt::format("the kernel is `{}`, so where tasks run is not "
                                                    "known",
                                                    Spelling(kernel_.schedule))};
    }
    if (ReadsTensor(module_, event.count)) {
      return ViaObstacle{module_.RangeOf(event.count), "its count depends on data"};
    }
    for (const ShareSite& site : SharesOf(module_, kernel_)) {
      if (auto obstacle = InShare(site.share)) {
        return obstacle;
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<ViaObstacle> InShare(NodeId id) const {
    const auto& share = std::get<Share>(module_.nodes[id]);
    const Device& callee = module_.devices[share.callee];
    if (ReadsTensor(module_, share.axes)) {
      return ViaObstacle{
          module_.RangeOf(id),
          "data decide how many tasks this share has, and where those behind it run"};
    }
    bool none = via_ == Realisation::None;
    if (none && Fetches(callee)) {
      return ViaObstacle{module_.RangeOf(id),
                         fmt::format("the loader of `@{}` fetches behind notifies, which have the "
                                     "fence of its copies",
                                     callee.name)};
    }
    for (const EventRef& ref : share.range_waits) {
      if (ref.event == event_) {
        return ViaObstacle{ref.range, "every SM waits for it under `ranges`"};
      }
    }
    for (const EventRef& ref : share.after_waits) {
      if (ref.event == event_) {
        return ViaObstacle{ref.range, "the scheduler warp waits for it under `after`"};
      }
    }
    for (const auto* refs : Lists(share)) {
      for (const EventRef& ref : *refs) {
        if (ref.event == event_ && ReadsTensor(module_, ref)) {
          return ViaObstacle{ref.range, "data decide its element here"};
        }
      }
    }
    for (const auto* refs : {&share.notifies, &share.leave_notifies}) {
      for (const EventRef& ref : *refs) {
        if (none && ref.event == event_ && MayEndElsewhere(callee)) {
          return ViaObstacle{ref.range,
                             fmt::format("the implementation of `@{}` may end its tasks in the "
                                         "epilogue warp",
                                         callee.name)};
        }
      }
    }
    return std::nullopt;
  }

  static std::array<const std::vector<EventRef>*, 4> Lists(const Share& share) {
    return {&share.enter_waits, &share.waits, &share.notifies, &share.leave_notifies};
  }

  const Module& module_;
  const Kernel& kernel_;
  EventId event_;
  Realisation via_;
};

}  // namespace

bool IsOfSm(const Event& event) {
  return event.realisation == Realisation::Shared || event.realisation == Realisation::None;
}

std::optional<ViaObstacle> FindViaObstacle(const Module& module, const Kernel& kernel,
                                           EventId event, Realisation via) {
  return Search(module, kernel, event, via).Run();
}

std::optional<int64_t> MostCounters(const Module& module, const Kernel& kernel,
                                    const Event& event) {
  const DimRanges ranges = RangesOf(module, kernel);
  std::optional<int64_t> counters = 1;
  for (const EventDim& dim : event.dims) {
    auto extent = Bounds(module, dim.extent, {}, ranges);
    counters =
        counters && extent ? CheckedMul(*counters, std::max<int64_t>(extent->hi, 0)) : std::nullopt;
  }
  return counters;
}

std::optional<int64_t> CtaCounters(const Module& module, const Kernel& kernel) {
  const DimRanges ranges = RangesOf(module, kernel);
  int64_t end = 0;
  for (NodeId id : kernel.declarations) {
    const auto* declaration = std::get_if<EventDecl>(&module.nodes[id]);
    const Event* event = declaration ? &module.events[declaration->event] : nullptr;
    if (event == nullptr || event->realisation != Realisation::Shared || !event->first) {
      continue;
    }
    auto first = Bounds(module, event->first, {}, ranges);
    auto counters = MostCounters(module, kernel, *event);
    auto last = first && counters ? CheckedAdd(first->hi, *counters) : std::nullopt;
    if (!last) {
      return std::nullopt;
    }
    end = std::max(end, *last);
  }
  return end;
}

}  // namespace etc
