// Which threads wait and notify, and which elements of events data may get wrong.

#include "emit/raise/passes.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// The events of which data decide what notifies them, or how often: one of them may never be
/// complete once a check has failed.
std::set<EventId> DecidedByData(const RaisedKernel& raised) {
  const Module& module = raised.module;
  std::set<EventId> decided;
  for (const auto& [id, each] : raised.shares) {
    for (const auto* refs : {&each.share.notifies, &each.share.leave_notifies}) {
      for (const EventRef& ref : *refs) {
        if (ReadsTensor(module, ref) || each.reads_ranges ||
            ReadsTensor(module, module.events[ref.event].count)) {
          decided.insert(ref.event);
        }
      }
    }
  }
  return decided;
}

}  // namespace

void PlaceSignals(RaisedModule& raised) {
  const Module& module = raised.module;
  for (RaisedKernel& kernel : raised.kernels) {
    std::set<EventId> checked;
    if (kernel.kernel.check_accesses) {
      checked = DecidedByData(kernel);
    }
    auto place = [&](const std::vector<EventRef>& refs, std::vector<RaisedSignal>& to) {
      for (const EventRef& ref : refs) {
        if (!HasCounters(module.events[ref.event].realisation)) {
          continue;  // the barrier behind the waits is enough, or the implementation looks at words
        }
        // Only the thread that waited for a tensor may read it.
        bool reads =
            ReadsTensor(module, ref) || ReadsTensor(module, module.events[ref.event].count);
        to.push_back({ref, reads, checked.contains(ref.event), ref.peer && !ref.axes.empty()});
      }
    };
    for (auto& [id, each] : kernel.shares) {
      place(each.share.after_waits, each.after_waits);
      place(each.share.range_waits, each.range_waits);
      place(each.share.enter_waits, each.enter_waits);
      place(each.share.waits, each.waits);
      place(each.share.notifies, each.notifies);
      place(each.share.leave_notifies, each.leave_notifies);
    }
  }
}

}  // namespace etc
